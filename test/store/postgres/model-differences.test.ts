import { readFileSync } from 'node:fs';

import { expect, it } from 'vitest';

import type { Store } from '../../../src/gateway/index.ts';
import { petStore } from '../../../src/store/index.ts';
import { useCopy } from '../../support/databases.ts';
import { runSql } from '../../support/postgres.ts';
import { warningsAtStart } from '../../support/start.ts';

const LATER = `insert into _prisma_migrations (id, checksum, migration_name, finished_at)
  values ('x', 'x', '20991231000000_later', now())`;

const url = useCopy();

/** Opens the store on the database after SQL has changed it. Returns the warnings in the log. */
async function openAfter(sql: string, store: Store = petStore): Promise<unknown[]> {
  await runSql(url(), sql);
  return warningsAtStart({ DATABASE_URL: url() }, store);
}

/** What statements of this release can't do without. */
const MISSING = [
  [
    'alter table orders rename to sales',
    'column orders.id is missing, but bigint NOT NULL in the model',
  ],
  [
    'alter table orders drop column ship_date',
    'column orders.ship_date is missing, but timestamp(3) with time zone in the model',
  ],
  [
    `alter type pet_status rename value 'sold' to 'gone'`,
    'value sold of pet_status is missing, but after pending in the model',
  ],
] as const;

/** What a later release may have changed. */
const DIFFERENT = [
  [
    'alter table orders alter quantity type bigint',
    'column orders.quantity is bigint NOT NULL, but integer NOT NULL in the model',
  ],
  [
    'alter table orders alter ship_date type timestamptz',
    'column orders.ship_date is timestamp with time zone, but timestamp(3) with time zone in the model',
  ],
  [
    'alter table categories alter name type varchar(100)',
    'column categories.name is character varying(100) NOT NULL, but character varying(255) NOT NULL in the model',
  ],
  [
    `alter type pet_status rename value 'sold' to 'x'; alter type pet_status rename value 'pending' to 'sold';
     alter type pet_status rename value 'x' to 'pending'`,
    'value pending of pet_status is after sold, but after available in the model; value sold of pet_status is after available, but after pending in the model',
  ],
  [
    'alter table orders alter complete drop not null',
    'column orders.complete is boolean, but boolean NOT NULL in the model',
  ],
  [
    'alter table categories alter description set not null',
    'column categories.description is character varying(2000) NOT NULL, but character varying(2000) in the model',
  ],
  [
    'alter table orders drop constraint orders_pkey; create index on orders (id)',
    'index on orders (id) is missing, but UNIQUE in the model',
  ],
  [
    'alter table orders drop constraint orders_pet_id_fkey',
    'foreign key of orders (pet_id) to pets is missing, but ON DELETE NO ACTION in the model',
  ],
  [
    `alter table inventory_items drop constraint inventory_items_pet_id_fkey;
     alter table inventory_items add foreign key (pet_id) references pets`,
    'foreign key of inventory_items (pet_id) to pets is ON DELETE NO ACTION, but ON DELETE CASCADE in the model',
  ],
] as const;

it('the migrations create each index of schema.prisma', async () => {
  const schema = readFileSync('prisma/schema.prisma', 'utf8');
  const wanted = Array.from(schema.matchAll(/^model [^]*?^}/gm), ([model]) => {
    const [, table = ''] = /@@map\("(\w+)"\)/.exec(model) ?? [];
    const columnOf = (field: string): string =>
      new RegExp(`^ +${field} .*@map\\("(\\w+)"\\)`, 'm').exec(model)?.[1] ?? field;
    return Array.from(model.matchAll(/@@index\(\[([\w, ]+)\]\)/g), ([, fields = '']) =>
      [table, ...fields.split(', ').map(columnOf), 'idx'].join('_'),
    );
  }).flat();
  expect(wanted).toContain('pets_category_id_id_idx');
  const rows = await runSql(url(), 'select indexname from pg_indexes');
  expect(rows.map(({ indexname }) => indexname)).toEqual(expect.arrayContaining(wanted));
});

it.each(MISSING)(
  'a store does not start on a database that lacks what it needs, whether or not a later release has removed it: $1',
  async (sql, difference) => {
    const message = `The database differs from the model in schema.prisma: ${difference}`;
    await expect(openAfter(sql)).rejects.toThrow(message);
    await expect(openAfter(LATER)).rejects.toThrow(difference);
  },
);

it.each(DIFFERENT)(
  'a store does not start on a database that differs from its model, but with a warning if a later release has changed it: $1',
  async (sql, difference) => {
    const message = `The database differs from the model in schema.prisma: ${difference}`;
    await expect(openAfter(sql)).rejects.toThrow(message);
    expect(await openAfter(LATER)).toEqual([
      `A later release has migrated the database, which differs from this release's model: ${difference}.`,
    ]);
  },
);

it('a store does not start if the database lacks a key of several columns', async () => {
  const pets = petStore.repositories.get('Pet');
  if (!pets) throw new Error('There are no pets.');
  const { name, categoryId } = pets.fields as { name: never; categoryId: never };
  const keyed = { ...pets, uniques: [[name, categoryId]] };
  const repositories = new Map([...petStore.repositories, ['Pet', keyed]]);
  const store: Store = { ...petStore, repositories };
  await expect(openAfter('select', store)).rejects.toThrow(
    'index on pets (category_id, name) is missing, but UNIQUE COLLATE "C" in the model',
  );
  const create = 'create unique index on pets (category_id, name collate "C") include (status)';
  expect(await openAfter(create, store)).toEqual([]);
  // Another index of the same columns changes nothing.
  const more = 'create unique index on pets (name, category_id)';
  expect(await openAfter(`${create}; ${more}`, store)).toEqual([]);
  expect(await openAfter(`${more}; ${create}`, store)).toEqual([]);
});

it('the message about a database that differs from its model names all differences', async () => {
  const sql = `alter table orders drop column ship_date; alter table categories alter name drop not null`;
  await expect(openAfter(sql)).rejects.toThrow(
    /: column categories\.name is .+; column orders\.ship_date is missing, .+\.$/,
  );
});

it.each([
  'alter table categories alter name type text',
  'alter table pets alter name type varchar(300)',
])('a store starts on strings that may be longer than in its model: %s', async (sql) => {
  expect(await openAfter(sql)).toEqual([]);
});

it('a store starts without a warning on a database to which a later release has added columns, values and keys', async () => {
  const added = `alter table pets add chip varchar(20) unique; alter type pet_status add value 'reserved'`;
  expect(await openAfter(`${added}; ${LATER}`)).toEqual([]);
});
