import { CATEGORIES, type Store } from './store.ts';

/** A kind of request that is sent to contenders many times, with values that depend on an index. */
export interface Workload {
  /** Its name in the tables. */
  readonly title: string;
  /** Its name in `--only`, and that of its GraphQL operation if it has one. */
  readonly name: string;
  /** Whether it changes the store. */
  readonly writes?: boolean;
  /** If it is a burst, the number of connections, all opened at the same time. */
  readonly burst?: number;
  /** Returns the request with this index. */
  readonly ask: (store: Store, index: number) => Question;
}

/** A GraphQL operation, or a REST path. */
interface Question {
  readonly path?: string;
  readonly variables?: Readonly<Record<string, unknown>>;
  /** The id of the row before the page. Each contender has its own cursor for it. */
  readonly after?: number;
  /** The expected GraphQL `data` or REST body. */
  readonly answer: () => unknown;
}

/** Spreads the requests over the rows. */
const spread = (index: number, rows: number): number => (index * 7919) % rows;

/** Returns the first `count` results of `row` that are not undefined, for the ids from `from` on. */
function take<Row>(count: number, from: number, row: (id: number) => Row | undefined): Row[] {
  const rows: Row[] = [];
  for (let id = from; rows.length < count; id++) {
    const found = row(id);
    if (found !== undefined) rows.push(found);
  }
  return rows;
}

/** Returns the pet if it is available and in this category. */
const inCategory = (store: Store, categoryId: string) => (id: number) => {
  const { status, category } = store.pet(id);
  return status === 'AVAILABLE' && category.id === categoryId ? store.namedPet(id) : undefined;
};

/** A request for 20 available pets of a category and, if `counted`, for their total number. */
const askFiltered =
  (counted: boolean) =>
  (store: Store, index: number): Question => {
    const after = 1 + spread(index, store.pets - 4000);
    const categoryId = String(1 + (index % CATEGORIES));
    const isOne = inCategory(store, categoryId);
    const answer = () => {
      const ids = Array.from({ length: counted ? store.pets : 0 }, (_, id) => id + 1);
      const count = counted && { totalCount: ids.filter(isOne).length };
      return { pets: { ...count, nodes: take(20, after + 1, isOne) } };
    };
    return { after, variables: { categoryId }, answer };
  };

const ONE_PET: Workload = {
  title: 'one pet with its category',
  name: 'OnePet',
  ask: (store, index) => {
    const id = 1 + spread(index, store.pets);
    return { variables: { id: String(id) }, answer: () => ({ pet: store.pet(id) }) };
  },
};

export const WORKLOADS: readonly Workload[] = [
  ONE_PET,
  {
    title: '20 pets with category',
    name: 'Pets',
    ask: (store, index) => {
      const after = 1 + spread(index, store.pets - 100);
      const nodes = () => take(20, after + 1, (id) => store.pet(id));
      return { after, answer: () => ({ pets: { nodes: nodes() } }) };
    },
  },
  {
    title: '50 orders, three levels deep',
    name: 'Orders',
    ask: (store, index) => {
      const after = 1 + spread(index, store.orders - 100);
      const nodes = () =>
        take(50, after + 1, (id) => {
          const { category, id: petId, name } = store.pet(store.petOf(id));
          return {
            ...store.order(id),
            pet: { id: petId, name, category: { name: category.name } },
          };
        });
      return { after, answer: () => ({ orders: { nodes: nodes() } }) };
    },
  },
  {
    title: '20 categories × 10 pets × stock',
    name: 'PetsOfCategories',
    ask: (store, index) => {
      const after = 1 + spread(index, store.pets - 1000);
      const petsOf = (category: string): object[] =>
        take(10, after + 1, (id) => {
          if (store.pet(id).category.id !== category) return undefined;
          return { ...store.namedPet(id), inventory: { quantity: store.stock(id) } };
        });
      const nodes = () =>
        take(20, 1, (number) => {
          const category = store.category(number);
          return { ...category, pets: { nodes: petsOf(category.id) } };
        });
      return { after, answer: () => ({ categories: { nodes: nodes() } }) };
    },
  },
  {
    title: '50 pets × 3 orders',
    name: 'OrdersOfPets',
    ask: (store, index) => {
      const after = 1 + spread(index, store.ordered - 100);
      const nodes = () => {
        const pets = new Map(take(50, after + 1, (id) => [id, [] as object[]] as const));
        // Of any `store.ordered` consecutive orders, each is for a different pet.
        for (let id = 1; id <= 3 * store.ordered; id++) {
          pets.get(store.petOf(id))?.push(store.order(id));
        }
        return [...pets].map(([id, orders]) => ({
          ...store.namedPet(id),
          orders: { nodes: orders },
        }));
      };
      return { after, answer: () => ({ pets: { nodes: nodes() } }) };
    },
  },
  {
    title: '20 pets by status and category',
    name: 'FilteredPets',
    ask: askFiltered(false),
  },
  { title: 'the same, counted', name: 'CountedPets', ask: askFiltered(true) },
  {
    title: '10 pets by a part of their name',
    name: 'PetsByName',
    ask: (store, index) => {
      const tens = 1 + spread(index, store.pets / 10 - 1);
      const nodes = () => take(10, tens * 10, (id) => store.namedPet(id));
      const name = `ET-${String(tens).padStart(6, '0')}`;
      return { variables: { name }, answer: () => ({ pets: { nodes: nodes() } }) };
    },
  },
  {
    title: 'REST: one pet',
    name: 'RestPet',
    ask: (store, index) => {
      const id = 1 + spread(index, store.pets);
      const { name, status, category } = store.pet(id);
      const pet = { id, name, categoryId: Number(category.id), status: status.toLowerCase() };
      return { path: `/pets/${id}`, answer: () => pet };
    },
  },
  {
    title: 'REST: 1,000 orders',
    name: 'RestOrders',
    ask: (store, index) => {
      const after = spread(index, store.orders - 1000);
      const answer = () =>
        take(1000, after + 1, (id) => {
          const { quantity, complete, shipDate } = store.order(id);
          return { id, petId: store.petOf(id), quantity, complete, ...(shipDate && { shipDate }) };
        });
      return { path: `/store/orders?limit=1000&after=${after}`, answer };
    },
  },
  {
    title: '{ __typename }',
    name: 'Typename',
    ask: () => ({ answer: () => ({ __typename: 'Query' }) }),
  },
  {
    title: 'place an order',
    name: 'PlaceOrder',
    writes: true,
    ask: (store, index) => {
      const petId = 3 * (1 + spread(index, Math.floor(store.pets / 3)));
      const order = { quantity: 2, complete: false, pet: store.namedPet(petId) };
      const variables = { petId: String(petId), quantity: order.quantity };
      return { variables, answer: () => ({ placeOrder: order }) };
    },
  },
  { ...ONE_PET, title: 'one pet, 500 connections at once', burst: 500 },
];
