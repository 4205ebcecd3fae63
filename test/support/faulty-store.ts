import { inspect } from 'node:util';

import { raw } from 'sql-template-tag';

import { GatewayError } from '../../src/gateway/contract/gateway-error.ts';
import type { Database } from '../../src/gateway/database/database.ts';
import { openWatched } from './outage.ts';
import { MODELS } from './rows.ts';
import { untilSettled } from './settled.ts';

const SECRET = 'secret: password of the store';

/** Opens a database whose statements fail for values that contain `fails` or `busy`. */
export const openFaulty = openWatched(({ values }) => {
  const text = inspect(values);
  if (text.includes('fails')) throw new Error(SECRET);
  if (text.includes('busy')) throw new GatewayError('SERVICE_UNAVAILABLE');
});

const TABLES = MODELS.map(({ name }) => name);

export interface FilledStore {
  /** Restores the initial rows, and returns the rows that they replace. */
  readonly putBack: () => Promise<unknown>;
  readonly removeRows: () => Promise<void>;
  /**
   * Gives some rows values that can't be sent, as a later release may. If such a value and a promise fail
   * in one list, graphql-js 16.15 does not handle the rejection of the promise, which would end the tests.
   */
  readonly spoilValues: () => Promise<void>;
}

export async function fillStore(db: Database): Promise<FilledStore> {
  const run = (sql: string): Promise<unknown> => db.write(raw(sql));
  await run(`insert into categories (name, description) values
    ('Cats', 'Some purr.'), ('Dogs', null), ('Wyrms', 'A "quote", a \\ and a
    line.'), ('Birds', 'Ω≈ç √'), ('Fish', null)`);
  await run(`insert into pets (name, category_id, status) values
    ('Cleo', 1, 'available'), ('Bo', 1, 'sold'), ('Rex', 2, 'available'), ('"a\\b/c"', 3, 'pending'),
    ('a' || chr(1) || chr(127) || chr(8232), 2, 'available'), ('Ada', 4, 'available'), ('ada', 1, 'sold'),
    ('Dodo', 4, 'available'), ('Ada', 2, 'available')`);
  await run(`insert into inventory_items (pet_id, quantity) values
    (1, 5), (3, 0), (4, 50), (5, 12), (8, 77), (9, 1000)`);
  await run(`insert into orders (pet_id, quantity, ship_date, complete) values
    (1, 1, '2027-01-02T03:04:05Z', false), (1, 2, null, true), (3, 7, '0001-01-01T00:00:00Z', false),
    (4, 3, '2027-01-02T03:04:05.006Z', false), (2, 8, null, false), (9, 9, '9999-12-31T23:59:59.999Z', false)`);
  for (const table of TABLES) await run(`create table kept_${table} as table ${table}`);
  const found = TABLES.map(
    (table) => `(select json_agg(${table} order by ${table}) from ${table})`,
  );
  const empty = ['idempotency_keys', ...TABLES.toReversed()].map((table) => `delete from ${table}`);
  const fill = TABLES.map((table) => `insert into ${table} table kept_${table}`);
  // For a table without a sequence, this does nothing.
  const number = MODELS.map(
    ({ name, id }) => `perform setval(pg_get_serial_sequence('${name}', '${id}'), 100)`,
  );
  // Without foreign key checks.
  await run(`create function put_back() returns json language plpgsql
    set session_replication_role = replica as $$
    declare found json := json_build_array(${found.join(', ')});
    begin ${[...empty, ...fill, ...number].join('; ')}; return found; end $$`);
  const putBack = (): Promise<unknown> => db.write(raw('select put_back()'));
  const reset = async (): Promise<void> => {
    await putBack();
    await untilSettled(db);
  };
  await reset();
  return {
    putBack,
    removeRows: async () => {
      await run(`update kept_pets set category_id = 77 where id = 6`);
      await run(`update kept_orders set pet_id = 77 where id = 5`);
      await reset();
    },
    spoilValues: async () => {
      await run(`alter type pet_status add value 'extinct'`);
      await run(`update kept_pets set status = 'extinct' where name = 'Dodo'`);
      await run(`alter table orders drop constraint orders_ship_date_check`);
      await run(`update kept_orders set ship_date = 'infinity' where id = 3`);
      await run(`update kept_orders set ship_date = '10000-01-01' where id = 6`);
      await run(`update kept_orders set ship_date = '0001-01-01 BC' where id = 4`);
      await reset();
    },
  };
}
