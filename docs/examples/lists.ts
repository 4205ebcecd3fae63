/** A field that returns a list of objects, written as `Type.field`. */
type List = `${string}.${string}`;

const CATEGORIES: readonly List[] = ['Query.categories'];
// A list of pets can depend on their stock, and a list of inventory items on their pets.
const STOCK: readonly List[] = ['Query.pets', 'Category.pets', 'Query.inventory'];
const ORDERS: readonly List[] = ['Query.orders', 'Pet.orders'];
// A list of orders can depend on their pets, and orders change the stock.
const STOCK_AND_ORDERS: readonly List[] = [...STOCK, ...ORDERS];

/** The lists that a write can add to, remove from or reorder, by the type of its result. */
export const LISTS: Readonly<Record<string, readonly List[]>> = {
  Category: CATEGORIES,
  DeletedCategory: CATEGORIES,
  CategoryChange: CATEGORIES,
  Pet: STOCK_AND_ORDERS,
  CreatedPets: STOCK_AND_ORDERS,
  UpdatedPets: STOCK_AND_ORDERS,
  DeletedPet: STOCK_AND_ORDERS,
  PetChange: STOCK_AND_ORDERS,
  InventoryItem: STOCK,
  UpdatedInventories: STOCK,
  AdjustedInventories: STOCK,
  InventoryItemChange: STOCK,
  Order: STOCK_AND_ORDERS,
  PlacedOrders: STOCK_AND_ORDERS,
  CancelledOrder: STOCK_AND_ORDERS,
  OrderChange: ORDERS,
};

/** The types of the deleted objects, by the type of the result. An inventory item has the id of its pet. */
export const GONE: Readonly<Record<string, readonly string[]>> = {
  DeletedCategory: ['Category'],
  CategoryChange: ['Category'],
  DeletedPet: ['Pet', 'InventoryItem'],
  PetChange: ['Pet', 'InventoryItem'],
  InventoryItemChange: ['InventoryItem'],
  CancelledOrder: ['Order'],
  OrderChange: ['Order'],
};

/** How many more rows a list shows when the user asks for more. */
export const PAGE = 5;

/** How many rows to load when a list is reloaded: as many as it shows, or the most that a query may load. */
export const toReload = (shown: number): number => Math.min(shown, 100);

/** The result of a mutation, or a change from a subscription. A change must include its `kind` and the object's id. */
export interface Result {
  readonly __typename: string;
  readonly kind?: 'CREATED' | 'UPDATED' | 'DELETED';
  readonly id?: string;
  readonly categoryId?: string;
  readonly petId?: string;
  readonly orderId?: string;
}

/**
 * Returns the lists to reload after a write. There are none after an error or an UPDATED change: if every sale
 * reloaded the lists, users would be sent back to the first page.
 */
export const listsToForget = ({ __typename, kind }: Result): readonly List[] =>
  kind === 'UPDATED' ? [] : (LISTS[__typename] ?? []);

/**
 * Returns a function that calls `act` with one item or with all that arrive within `pauseMs`, and at most once in this
 * time. Someone may create a thousand pets at once: an app that reloaded its lists for each of them would flood the
 * gateway.
 */
export function collect<Item>(
  act: (items: readonly Item[]) => void,
  pauseMs = 1000,
): (item: Item) => void {
  let waiting: Item[] | undefined;
  const begin = (items: readonly Item[]): void => {
    waiting = [];
    setTimeout(() => {
      const later = waiting ?? [];
      waiting = undefined;
      if (later.length > 0) begin(later);
    }, pauseMs);
    act(items);
  };
  return (item) => {
    if (waiting) waiting.push(item);
    else begin([item]);
  };
}

/** Returns the objects that a write has deleted. */
export function rowsToForget(result: Result): { __typename: string; id: string }[] {
  const { __typename, kind, categoryId, petId, orderId } = result;
  const id = kind === 'DELETED' ? (categoryId ?? petId ?? orderId) : result.id;
  if (id === undefined) return [];
  return (GONE[__typename] ?? []).map((type) => ({ __typename: type, id }));
}
