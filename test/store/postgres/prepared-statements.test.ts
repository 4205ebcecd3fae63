import sql, { raw } from 'sql-template-tag';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { openCopyOnPostgres } from '../../support/databases.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ POOL_SIZE: '1' }, openCopyOnPostgres);
});
afterAll(() => gateway.close());

interface Prepared {
  readonly count: number;
  readonly length: number;
}

/**
 * Runs different statements; returns the number and the total length of the connection's prepared statements when this
 * length was highest.
 */
async function prepare(statements: number, comment: string): Promise<Prepared> {
  let most: Prepared = { count: 0, length: 0 };
  for (let index = 0; index < statements; index += 1) {
    const [prepared] = await gateway.db.query<Prepared>(
      sql`select count(*)::integer as count, coalesce(sum(length(statement)), 0)::integer as length
        from pg_prepared_statements ${raw(`/* ${comment} ${index} */`)}`,
    );
    if (prepared && prepared.length > most.length) most = prepared;
  }
  return most;
}

it('a connection prepares a hundred statements before it is replaced', async () => {
  expect((await prepare(250, 'short')).count).toBe(100);
});

it('a connection prepares about 100,000 characters of statements before it is replaced', async () => {
  const { length } = await prepare(50, 'x'.repeat(9000));
  expect(length).toBeGreaterThan(90_000);
  expect(length).toBeLessThan(110_000);
});

it('a connection is kept after a statement that violates a constraint', async () => {
  const pid = sql`select pg_backend_pid() as pid`;
  const before = await gateway.db.query(pid);
  const insert = sql`insert into pets (name, category_id) values ('Luna', 0)`;
  await expect(gateway.db.write(insert)).rejects.toMatchObject({ code: '23503' });
  const inTransaction = gateway.db.transaction(({ write }) => write(insert));
  await expect(inTransaction).rejects.toMatchObject({ code: '23503' });
  expect(await gateway.db.query(pid)).toEqual(before);
});
