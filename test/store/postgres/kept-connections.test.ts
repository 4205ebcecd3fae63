import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { openCopyOnPostgres } from '../../support/databases.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ POOL_SIZE: '1' }, openCopyOnPostgres);
});
afterAll(() => gateway.close());

it('a connection is kept after a statement that violates a constraint', async () => {
  const pid = sql`select pg_backend_pid() as pid`;
  const before = await gateway.db.query(pid);
  const insert = sql`insert into pets (name, category_id) values ('Luna', 0)`;
  await expect(gateway.db.write(insert)).rejects.toMatchObject({ code: '23503' });
  const inTransaction = gateway.db.transaction(({ write }) => write(insert));
  await expect(inTransaction).rejects.toMatchObject({ code: '23503' });
  expect(await gateway.db.query(pid)).toEqual(before);
});
