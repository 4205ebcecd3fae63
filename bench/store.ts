/** A pet as GraphQL returns it. */
interface Pet {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly category: Category;
}

interface Category {
  readonly id: string;
  readonly name: string;
}

/** An order as GraphQL returns it. */
interface Order {
  readonly id: string;
  readonly quantity: number;
  readonly shipDate: string | null;
  readonly complete: boolean;
}

export const CATEGORIES = 50;
const ORDERS_PER_PET = 5;
const MOST_ORDERED = 200_000;
const STATUSES = ['AVAILABLE', 'PENDING', 'SOLD'];
const FIRST_DATE = '2026-01-01T00:00:00.123Z';

/** A store whose rows are computed from their ids: here for the expected responses, and in SQL for the data. */
export class Store {
  readonly pets: number;
  /** The number of pets with orders: the first pets, each with the same number of orders. */
  readonly ordered: number;
  readonly orders: number;

  constructor(pets: number) {
    this.pets = pets;
    this.ordered = Math.min(pets, MOST_ORDERED);
    this.orders = this.ordered * ORDERS_PER_PET;
  }

  category(id: number): Category {
    return { id: String(id), name: `Category ${id}` };
  }

  pet(id: number): Pet {
    return {
      id: String(id),
      // One word, because the gateway would search for two words in any order, and the other servers for the exact
      // string.
      name: `Pet-${String(id).padStart(7, '0')}`,
      status: STATUSES[id % STATUSES.length] ?? '',
      category: this.category(1 + ((id * 7919) % CATEGORIES)),
    };
  }

  namedPet(id: number): Pick<Pet, 'id' | 'name'> {
    const { name } = this.pet(id);
    return { id: String(id), name };
  }

  stock(petId: number): number {
    return 1_000_000 + (petId % 1000);
  }

  petOf(orderId: number): number {
    return 1 + ((orderId * 104_729) % this.ordered);
  }

  order(id: number): Order {
    const shipDate = new Date(Date.parse(FIRST_DATE) + id * 61_000).toISOString();
    return {
      id: String(id),
      quantity: 1 + (id % 5),
      shipDate: id % 7 === 0 ? null : shipDate,
      complete: id % 2 === 0,
    };
  }

  /** The statements that fill an empty database. VACUUM must be a separate statement. */
  get fillStatements(): string[] {
    return [
      // Skips triggers: the checks of foreign keys would take most of the time.
      `set session_replication_role = replica;
      insert into categories (id, name)
        select i, 'Category ' || i from generate_series(1, ${CATEGORIES}) i;
      insert into pets (id, name, category_id, status)
        select i, 'Pet-' || lpad(i::text, 7, '0'), 1 + (i * 7919) % ${CATEGORIES},
          (array['available', 'pending', 'sold']::pet_status[])[1 + i % 3]
        from generate_series(1, ${this.pets}::bigint) i;
      insert into inventory_items (pet_id, quantity)
        select i, 1000000 + i % 1000 from generate_series(1, ${this.pets}) i;
      insert into orders (id, pet_id, quantity, ship_date, complete)
        select i, 1 + (i * 104729) % ${this.ordered}, 1 + i % 5,
          case when i % 7 > 0 then timestamptz '${FIRST_DATE}' + make_interval(secs => i * 61) end,
          i % 2 = 0
        from generate_series(1, ${this.orders}::bigint) i;
      insert into pets_folded_name select id, folded(lower(name)) from pets;
      select setval(pg_get_serial_sequence('orders', 'id'), ${this.orders})`,
      'vacuum analyze',
    ];
  }

  /** The statements that undo the writes of a workload. */
  get restoreStatements(): string[] {
    return [
      `delete from orders where id > ${this.orders};
      update inventory_items set quantity = 1000000 + pet_id % 1000
        where quantity <> 1000000 + pet_id % 1000;
      truncate changes`,
      'vacuum analyze orders, inventory_items',
    ];
  }
}
