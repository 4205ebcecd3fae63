import { beforeAll, describe, expect, it } from 'vitest';

import { useProgramStore } from '../../support/databases.ts';
import { post } from '../../support/post.ts';
import { begin, countLockWaits } from '../../support/postgres.ts';
import { ask, failureOf, type Program, spawnProgram, startProgram } from '../../support/program.ts';

const embedded = useProgramStore('PGlite');
const server = useProgramStore();

const PLACE = `mutation { placeOrder(input: { petId: "1", quantity: 2 }, idempotencyKey: "repeated") {
  ... on Order { id pet { name } } ... on Error { message } } }`;

const page = (list: string, fields: string): string =>
  `${list}(first: 100) { totalCount nodes { ${fields} } }`;

async function readStore(gateway: Program): Promise<unknown> {
  const rows = await ask(
    gateway,
    `{ ${page('categories', 'id name description')} ${page('pets', 'id name status category { id }')}
       ${page('inventory', 'pet { id } quantity')} }`,
  );
  return { rows, orders: await (await fetch(`${gateway.url}/store/orders`)).json() };
}

let before: unknown;
let placed: unknown;
let cursor: string;
beforeAll(async () => {
  const gateway = await startProgram(embedded.environment);
  const pet = 'input: { name: "Zoé \\"\\u{1F431}\\", \\\\N", categoryId: "1" }';
  await ask(
    gateway,
    `mutation { a: createPet(${pet}) { __typename } b: createPet(${pet}) { __typename } }`,
  );
  await ask(gateway, 'mutation { deletePet(id: "102") { __typename } }');
  placed = await ask(gateway, PLACE);
  before = await readStore(gateway);
  const { changes } = await ask(gateway, '{ changes(last: 1) { pageInfo { endCursor } } }');
  cursor = changes.pageInfo.endCursor;
  await gateway.stop();
});

const failureOfCopy = (variables = {}): Promise<string[]> =>
  failureOf('copy', { ...embedded.environment, ...server.environment, ...variables });

describe('npm run migrate with --copy-embedded', () => {
  it('copies nothing if the other database rejects a row', async () => {
    await server.run(`
      create function reject() returns trigger language plpgsql as $$ begin raise 'No orders.'; end $$;
      create trigger reject before insert on orders for each row execute function reject()`);
    await failureOfCopy();
    await server.run('drop function reject cascade');
    expect(await server.run('select from pets')).toEqual([]);
  });

  it('does not copy the database of a gateway that runs, and migrates no other', async () => {
    const gateway = await startProgram(embedded.environment);
    await server.run('create schema kept; alter table _prisma_migrations set schema kept');
    const message = expect.stringMatching(/^DATA_DIR is in use by another gat/);
    expect(await failureOfCopy()).toEqual([message]);
    await server.run('alter table kept._prisma_migrations set schema public');
    await gateway.stop();
  });

  it.each([
    ['needs DATABASE_URL.', { DATABASE_URL: '' }],
    ['needs DATA_DIR: there is no database in /none.', { DATA_DIR: '/none' }],
    ['needs DATA_DIR: there is no database in /.', { DATA_DIR: '/' }],
  ])('is rejected if there are not two databases: it %s', async (message, variables) => {
    expect(await failureOfCopy(variables)).toEqual([`--copy-embedded ${message}`]);
  });

  it('waits for an open transaction, and copies nothing if that has written rows', async () => {
    const client = await begin(server.url, `insert into categories (name) values ('Cats')`);
    const messages = failureOfCopy();
    await expect.poll(() => countLockWaits(server.url)).toBe(1);
    await client.query('commit');
    await client.end();
    expect((await messages).at(-1)).toBe('The database already has rows in categories.');
    await server.run('delete from categories');
  });

  it('copies the rows, the next ids and the results of idempotency keys; cursors of changes expire', async () => {
    await server.run('alter sequence changes_id_seq restart');
    const copy = spawnProgram('copy', { ...embedded.environment, ...server.environment });
    expect(await copy.end).toBe(0);
    expect(copy.entries).toContainEqual(
      expect.objectContaining({ msg: 'Copied pets.', rows: 101 }),
    );
    const gateway = await startProgram(server.environment);
    expect(await readStore(gateway)).toEqual(before);
    expect(await ask(gateway, PLACE)).toEqual(placed);
    expect(
      await ask(
        gateway,
        'mutation { createPet(input: { name: "Ida", categoryId: "1" }) { ... on Pet { id } } }',
      ),
    ).toEqual({ createPet: { id: '103' } });
    const later = await post(gateway, { query: `{ changes(after: "${cursor}") { totalCount } }` });
    expect(await later.json()).toMatchObject({
      errors: [{ extensions: { code: 'CURSOR_EXPIRED' } }],
    });
    await gateway.stop();
    // So the cursor can't be the position of another change.
    const [, lastId] = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    expect(await server.run(`select from changes where type = 'Pet' and id <= ${lastId}`)).toEqual(
      [],
    );
  });

  it('copies nothing into a database that has rows, and sets no sequence', async () => {
    const sequences = 'select sequencename, last_value from pg_sequences order by 1';
    await server.run(`select setval('changes_id_seq', 1)`);
    const unchanged = await server.run(sequences);
    expect(await failureOfCopy()).toEqual(['The database already has rows in categories.']);
    expect(await server.run(sequences)).toEqual(unchanged);
  });
});
