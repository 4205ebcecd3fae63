import { randomUUID } from 'node:crypto';

import sql, { raw } from 'sql-template-tag';
import { beforeAll, expect, it } from 'vitest';

import { CRUD, type Crud, CUSTOM, inputFor, nextRow } from '../../support/crud.ts';
import { useProgramStore } from '../../support/databases.ts';
import { type Gateway, openAt, startGateway } from '../../support/gateway.ts';
import { insertRows, mutate } from '../../support/make.ts';
import { countConnections, runSql } from '../../support/postgres.ts';
import { rounds } from '../../support/rounds.ts';
import { insertSql, MODELS } from '../../support/rows.ts';

const ROUNDS = rounds(5, 300);
const ORDERS = 20_000;

const PETS = Array.from({ length: 12 }, (_pet, index) => String(index + 1));
const CATEGORIES = ['1', '2', '3'];
// Each category keeps a pet that no mutation moves, so that no category is ever deleted.
const KEEPERS = CATEGORIES.map((categoryId, index) => ({ id: 13 + index, categoryId }));

const anyOf = (ids: readonly string[]): string => ids[Math.floor(Math.random() * ids.length)] ?? '';

/** Returns most of the ids, in random order. */
const someOf = (ids: readonly string[]): string[] =>
  ids
    .map((id) => ({ id, place: Math.random() }))
    .toSorted((one, other) => one.place - other.place)
    .slice(Math.floor(ids.length / 4))
    .map(({ id }) => id);

let lastOrder = 0;
const nextOrder = (): string => String((lastOrder = (lastOrder % ORDERS) + 1));
let lastDeleted = PETS.length;
const nextDeleted = (): string => String((lastDeleted += 1));

const name = 'Rex';
const IDS: Readonly<Record<string, readonly string[]>> = { Category: CATEGORIES, Pet: PETS };
const idsOf = (type: string): readonly string[] => IDS[type] ?? PETS;

/** Returns random input of a mutation. It omits what has a default: a pet that is not available can't be ordered. */
function inputOf(crud: Crud): object {
  const columns = MODELS.find(({ type }) => type === crud.type)?.columns ?? [];
  const hasDefault = (input: string) =>
    columns.some((column) => column.field === input && column.hasDefault);
  const input = inputFor(crud, nextRow(), (type) => anyOf(idsOf(type)));
  return Object.fromEntries(Object.entries(input).filter(([field]) => !hasDefault(field)));
}

function argumentsOf(crud: Crud): object {
  const { kind, type } = crud;
  const ids = idsOf(type);
  if (kind === 'delete') return { id: type in IDS ? anyOf(ids) : nextDeleted() };
  if (kind === 'create') return { input: inputOf(crud) };
  if (kind === 'createMany') return { input: someOf(CATEGORIES).map(() => inputOf(crud)) };
  if (kind === 'update') return { id: anyOf(ids), input: inputOf(crud) };
  return { input: someOf(ids).map((id) => ({ id, ...inputOf(crud) })) };
}

/** Returns random arguments of each mutation, for the same few rows. All pets have orders, so none is ever deleted. */
const ARGUMENTS: Readonly<Record<string, () => object>> = {
  ...Object.fromEntries(CRUD.map((crud) => [crud.name, () => argumentsOf(crud)])),
  updateInventory: () => ({ petId: anyOf(PETS), input: { quantity: 1_000_000 } }),
  updateInventories: () => ({
    input: someOf(PETS).map((petId) => ({ petId, quantity: 1_000_000 })),
  }),
  adjustInventory: () => ({ petId: anyOf(PETS), by: 1 }),
  adjustInventories: () => ({ input: someOf(PETS).map((petId) => ({ petId, by: 1 })) }),
  placeOrder: () => ({ input: { petId: anyOf(PETS), quantity: 1 } }),
  placeOrders: () => ({ input: someOf(PETS).map((petId) => ({ petId, quantity: 1 })) }),
  rescheduleOrder: () => ({ id: nextOrder(), shipDate: null }),
  completeOrder: () => ({ id: nextOrder() }),
  cancelOrder: () => ({ id: nextOrder() }),
};
const NAMES = Object.keys(ARGUMENTS);
// Each mutation meets itself, too. Those of several rows are the most likely to deadlock.
const CALLS = NAMES.flatMap((called) =>
  Array.from({ length: /(s|ies)$/.test(called) ? 6 : 2 }, () => called),
);

const store = useProgramStore();
let gateway: Gateway;
beforeAll(async () => {
  const { url } = store;
  const database = new URL(url).pathname.slice(1);
  await runSql(url, `alter database ${database} set deadlock_timeout = '5ms'`);
  gateway = await startGateway({ POOL_SIZE: '40' }, openAt(url));
  const { db } = gateway;
  await insertRows(
    db,
    'categories',
    CATEGORIES.map((id) => ({ id, name })),
  );
  const pets = [...PETS.map((id) => ({ id, categoryId: 1 })), ...KEEPERS];
  await insertRows(
    db,
    'pets',
    pets.map(({ id, categoryId }) => ({
      id,
      name,
      category_id: categoryId,
      status: 'available',
    })),
  );
  await db.write(sql`
    select setval(pg_get_serial_sequence(name, 'id'), 100) from unnest(array['pets', 'categories']) as name`);
  await db.write(
    sql`insert into orders (pet_id, quantity) select 1 + number % 12, 1 from generate_series(1, ${ORDERS}::integer) as number`,
  );
  for (const model of MODELS) {
    const { type } = model;
    if (type in IDS || !CRUD.some((crud) => crud.type === type)) continue;
    await db.write(sql`${raw(insertSql(model, ORDERS, PETS.length))}`);
  }
});

it('concurrent mutations of the same dozen pets and their categories, stock and orders never deadlock', async () => {
  const missing = CUSTOM.filter((mutation) => !NAMES.includes(mutation));
  expect(missing, 'add the arguments of each custom mutation').toEqual([]);
  const call = (mutation: string, index: number): Promise<unknown> =>
    mutate(gateway, mutation, {
      ...ARGUMENTS[mutation]?.(),
      // With a key, the locks are held for several round trips.
      ...(index % 2 === 0 && { idempotencyKey: randomUUID() }),
    });
  // On a busy machine, so many new documents at once could wait too long for their turns.
  for (const mutation of NAMES) await call(mutation, 0);
  for (let round = 0; round < ROUNDS; round += 1) {
    // One pet has no inventory item, so that a mutation has to create it.
    await gateway.db.write(sql`delete from inventory_items where pet_id = ${anyOf(PETS)}`);
    await Promise.all(someOf(CALLS).map(call));
  }
  await gateway.close();
  // A connection reports its deadlocks before it closes.
  await expect.poll(() => countConnections(store.url)).toBe(0);
  const [row] = await runSql(
    store.url,
    'select deadlocks::integer from pg_stat_database where datname = current_database()',
  );
  expect(row).toEqual({ deadlocks: 0 });
});
