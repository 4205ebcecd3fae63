import type { Client } from './client.ts';
import type { Journal } from './journal.ts';

export interface LedgerOrder {
  readonly petId: string;
  readonly quantity: number;
  readonly key: string | undefined;
  state: 'open' | 'complete' | 'cancelled';
}

interface StoredOrder {
  readonly id: number;
  readonly petId: number;
  readonly quantity: number;
  readonly complete: boolean;
}

/** What the gateway acknowledged, and what the store must contain because of it. */
export class Ledger {
  readonly orders = new Map<string, LedgerOrder>();
  /** Pets whose stock only orders change, with their initial stock. */
  readonly stocked = new Map<string, number>();
  /** Pets whose stock one caller sets, with the stock that was acknowledged last. */
  readonly counted = new Map<string, number>();
  /** A pet whose stock all callers increment, with compare-and-swap. */
  readonly shared = { petId: '', acknowledged: 0, unanswered: 0 };
  /** The pets created with a key, by key, all in one category without others. */
  readonly pets = new Map<string, string>();
  petCategoryId = '';
  /** How many orders without a key got no response. */
  unanswered = 0;
  checks = 0;
  readonly #journal: Journal;

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  /** Adds an acknowledged order; its id must be new. */
  addOrder(id: string, order: LedgerOrder): void {
    if (this.orders.has(id)) this.#journal.violate(`Order ${id} was acknowledged twice.`);
    this.orders.set(id, order);
  }

  /** Compares what was acknowledged with the store, while no honest caller writes. */
  async check(client: Client): Promise<void> {
    this.checks += 1;
    const stored = await client.rest<StoredOrder[]>('/store/orders');
    this.#checkOrders(stored);
    await this.#checkStocks(client, stored);
    await this.#checkPets(client);
  }

  #checkOrders(stored: readonly StoredOrder[]): void {
    const found = new Map(stored.map((order) => [String(order.id), order]));
    for (const [id, { petId, quantity, state }] of this.orders) {
      const order = found.get(id);
      if (state === 'cancelled') {
        if (order) this.#journal.violate(`Order ${id} was cancelled and is there.`);
      } else if (!order) {
        this.#journal.violate(`Order ${id} was acknowledged (${state}) and is lost.`);
      } else if (
        String(order.petId) !== petId ||
        order.quantity !== quantity ||
        order.complete !== (state === 'complete')
      ) {
        this.#journal.violate(`Order ${id} is ${JSON.stringify(order)} and should be ${state}.`);
      }
    }
    const extra = stored.filter(({ id }) => !this.orders.has(String(id)));
    if (extra.length > this.unanswered) {
      const ids = extra.map(({ id }) => id).slice(0, 10);
      this.#journal.violate(
        `${extra.length} orders (${ids.join(', ')} …) that nobody was told of, ${this.unanswered} were placed without a key and an answer.`,
      );
    }
  }

  async #checkStocks(client: Client, stored: readonly StoredOrder[]): Promise<void> {
    for (const [petId, units] of this.stocked) {
      const ordered = stored
        .filter((order) => String(order.petId) === petId)
        .reduce((sum, { quantity }) => sum + quantity, 0);
      const stock = await readStock(client, petId);
      if (stock + ordered !== units) {
        this.#journal.violate(
          `Pet ${petId} has ${stock} units in stock and ${ordered} ordered; ${units} were put in.`,
        );
      }
    }
    for (const [petId, units] of this.counted) {
      const stock = await readStock(client, petId);
      if (stock !== units) {
        this.#journal.violate(`Pet ${petId} has ${stock} units; acknowledged were ${units}.`);
      }
    }
    const { petId, acknowledged, unanswered } = this.shared;
    const stock = await readStock(client, petId);
    if (stock < acknowledged || stock > acknowledged + unanswered) {
      this.#journal.violate(
        `Pet ${petId} has ${stock} units; acknowledged were ${acknowledged}, unanswered ${unanswered}.`,
      );
    }
  }

  async #checkPets(client: Client): Promise<void> {
    const { data } = await client.graphql<{ category: { pets: { totalCount: number } } }>({
      query: `{ category(id: "${this.petCategoryId}") { pets { totalCount } } }`,
    });
    const { totalCount } = data.category.pets;
    if (totalCount !== this.pets.size) {
      this.#journal.violate(`${totalCount} pets are there; ${this.pets.size} keys made one.`);
    }
  }
}

/** Returns the units of a pet in stock. */
export async function readStock(client: Client, petId: string): Promise<number> {
  const query = `{ inventoryItem(petId: "${petId}") { quantity } }`;
  const { data } = await client.graphql<{ inventoryItem: { quantity: number } | null }>({ query });
  return data.inventoryItem?.quantity ?? 0;
}
