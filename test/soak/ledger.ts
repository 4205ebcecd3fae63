import type { Data } from '../support/gateway.ts';
import type { Client } from './client.ts';
import type { Journal } from './journal.ts';

export interface LedgerOrder {
  readonly petId: string;
  readonly quantity: number;
  readonly key: string;
  state: 'open' | 'complete' | 'cancelled';
}

const [AMPLE, SCARCE] = [1_000_000, 40];
const UNITS = Array.from({ length: 12 }, (_, index) => (index % 4 === 3 ? SCARCE : AMPLE));

export class Ledger {
  readonly orders = new Map<string, LedgerOrder>();
  /** Pets whose stock is changed only by orders, with their initial stock. */
  readonly stocked = new Map<string, number>();
  readonly #journal: Journal;

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  /** Creates the pets. Every fourth pet has too little stock for all of its orders. */
  async createPets(client: Client): Promise<void> {
    const create = async (type: string, mutation: string): Promise<string> => {
      const query = `mutation { made: ${mutation} { ... on ${type} { id } } }`;
      const { data } = await client.graphql<{ made: { id: string } }>({ query });
      return data.made.id;
    };
    const categoryId = await create('Category', 'createCategory(input: { name: "Soaked" })');
    for (const quantity of UNITS) {
      const input = `{ name: "Rex", categoryId: "${categoryId}", quantity: ${quantity} }`;
      this.stocked.set(await create('Pet', `createPet(input: ${input})`), quantity);
    }
  }

  addOrder(id: string, order: LedgerOrder): void {
    if (this.orders.has(id)) this.#journal.violate(`Order ${id} was acknowledged twice.`);
    this.orders.set(id, order);
  }

  async check(client: Client): Promise<void> {
    const stored = await client.rest<Data[]>('/store/orders');
    const found = new Map(stored.map((order) => [String(order.id), order]));
    for (const [id, { petId, quantity, state }] of this.orders) {
      const order = found.get(id);
      if (state === 'cancelled') {
        if (order) this.#journal.violate(`Order ${id} was cancelled, but is still stored.`);
      } else if (!order) {
        this.#journal.violate(`Order ${id} was acknowledged (${state}), but is lost.`);
      } else if (
        String(order.petId) !== petId ||
        order.quantity !== quantity ||
        order.complete !== (state === 'complete')
      ) {
        this.#journal.violate(`Order ${id} is ${JSON.stringify(order)}, but should be ${state}.`);
      }
    }
    const extra = stored.filter(({ id }) => !this.orders.has(String(id)));
    if (extra.length > 0) this.#journal.violate(`${extra.length} orders were not acknowledged.`);
    for (const [petId, units] of this.stocked) {
      const ordered = stored
        .filter((order) => String(order.petId) === petId)
        .reduce((sum, { quantity }) => sum + quantity, 0);
      const query = `{ inventoryItem(petId: "${petId}") { quantity } }`;
      const { data } = await client.graphql<{ inventoryItem: { quantity: number } }>({ query });
      const stock = data.inventoryItem.quantity;
      const now = `${stock} units in stock and ${ordered} ordered`;
      if (stock + ordered !== units) {
        this.#journal.violate(`Pet ${petId} has ${now}, but started with ${units}.`);
      }
    }
  }
}
