import { inspect } from 'node:util';

import { GraphQLError } from 'graphql';

import { StoreError } from '../../src/contract/errors.ts';
import type { Database, Session } from '../../src/database/database.ts';
import { openCopy } from './databases.ts';

type Row = Record<string, unknown>;

const SECRET = 'secret: password of the store';

/** Faulty values of fields, in rows with the given value of another field. */
const FAULTS: [has: [string, unknown], field: string, value: unknown][] = [
  [['name', 'Returner'], 'status', new Error(SECRET)],
  [['name', 'Nobody'], 'status', null],
  [['name', 'Dodo'], 'status', 'extinct'],
  [['description', 'denies'], 'description', new GraphQLError('Not that.')],
  [['quantity', 7], 'quantity', 7.5],
  [['quantity', 9], 'shipDate', new Date(Number.NaN)],
  [['quantity', 77], 'quantity', undefined],
];

let areRowsSpoilt = false;

/**
 * Turns the faulty values on or off. If a faulty value and a promise fail in one list, graphql-js
 * 16.15 does not handle the rejection of the promise, which would end the test run.
 */
export function spoilRows(yes: boolean): void {
  areRowsSpoilt = yes;
}

/** Puts the faults into a row. */
function spoil(row: Row): Row {
  if (!areRowsSpoilt) return row;
  for (const [[key, value], field, fault] of FAULTS.filter(([, name]) => name in row)) {
    if (row[key] === value) return { ...row, [field]: fault };
  }
  return row;
}

/** Whether a row is hidden, as if it were deleted between two statements. */
const isHidden = (row: Row): boolean => row['description'] === 'hides';

function failFor(parameters: unknown): void {
  const text = inspect(parameters);
  if (text.includes('fails')) throw new Error(SECRET);
  if (text.includes('busy')) throw new StoreError('SERVICE_UNAVAILABLE');
}

const spoilSession = ({ query }: Session): Session => ({
  query: async <Result>(...statement: Parameters<Session['query']>) => {
    failFor(statement[0].values);
    const rows = await query<Row>(...statement);
    return rows.filter((row) => !isHidden(row)).map(spoil) as Result[];
  },
});

/** Opens a database with faulty rows and failing statements, as if there were bugs. */
export async function openFaulty(...args: Parameters<typeof openCopy>): Promise<Database> {
  const db = await openCopy(...args);
  const prisma = db.prisma.$extends({
    query: {
      $allModels: {
        $allOperations: async ({ args: parameters, query }) => {
          failFor(parameters);
          const result: unknown = await query(parameters);
          return Array.isArray(result) ? result : spoil(result as Row);
        },
      },
    },
  }) as unknown as Database['prisma'];
  return {
    ...db,
    ...spoilSession(db),
    prisma,
    transaction: (work) => db.transaction((session) => work(spoilSession(session))),
  };
}

const TABLES = ['categories', 'pets', 'inventory_items', 'orders'] as const;

/** Fills the store. The function returned resets it to this state and returns its state before. */
export async function fillStore(db: Database): Promise<() => Promise<unknown>> {
  const run = (sql: string): Promise<unknown> => db.prisma.$executeRawUnsafe(sql);
  await run(`insert into categories (name, description) values
    ('Cats', 'Some purr.'), ('Dogs', null), ('Wyrms', 'denies'), ('Birds', 'hides'), ('Fish', null)`);
  await run(`insert into pets (name, category_id, status) values
    ('Cleo', 1, 'available'), ('Bo', 1, 'sold'), ('Rex', 2, 'available'), ('Thrower', 3, 'pending'),
    ('Rejecter', 2, 'available'), ('Returner', 4, 'available'), ('Nobody', 1, 'sold'),
    ('Dodo', 4, 'available'), ('Ada', 2, 'available')`);
  await run(`insert into inventory_items (pet_id, quantity) values
    (1, 5), (3, 0), (4, 50), (5, 12), (8, 77), (9, 1000)`);
  await run(`insert into orders (pet_id, quantity, ship_date, complete) values
    (1, 1, '2027-01-02T03:04:05Z', false), (1, 2, null, true), (3, 7, null, false),
    (4, 3, '2027-01-02T03:04:05Z', false), (2, 8, null, false), (9, 9, '2027-05-01', false)`);
  for (const table of TABLES) await run(`create table kept_${table} as table ${table}`);
  const found = TABLES.map(
    (table) => `(select json_agg(${table} order by ${table}) from ${table})`,
  );
  const empty = ['idempotency_keys', ...TABLES.toReversed()].map((table) => `delete from ${table}`);
  const fill = TABLES.map((table) => `insert into ${table} table kept_${table}`);
  const number = ['categories', 'pets', 'orders'].map(
    (table) => `perform setval('${table}_id_seq', 100)`,
  );
  await run(`create function put_back() returns json language plpgsql as $$
    declare found json := json_build_array(${found.join(', ')});
    begin ${[...empty, ...fill, ...number].join('; ')}; return found; end $$`);
  await run('select put_back()');
  return () => db.prisma.$queryRawUnsafe('select put_back()');
}
