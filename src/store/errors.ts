import { errorOf } from '../gateway/index.ts';

/** Returns the class of errors that may be about one line of several: `line` is its index, from 0; otherwise null. */
const lineErrorOf = (...kind: Parameters<typeof errorOf>) =>
  class extends errorOf(...kind) {
    readonly line: number | null;

    constructor(message: string, line: number | null) {
      super(message);
      this.line = line;
    }
  };

export class CategoryNotFound extends errorOf(
  'CATEGORY_NOT_FOUND',
  404,
  'The category does not exist.',
) {
  constructor(id: bigint) {
    super(`There is no category ${id}.`);
  }
}

export class PetNotFound extends lineErrorOf('PET_NOT_FOUND', 404, 'The pet does not exist.') {
  constructor(id: bigint, line: number | null = null) {
    super(`There is no pet ${id}.`, line);
  }
}

export class OrderNotFound extends errorOf('ORDER_NOT_FOUND', 404, 'The order does not exist.') {
  constructor(id: bigint) {
    super(`There is no order ${id}.`);
  }
}

export class CategoryInUse extends errorOf(
  'CATEGORY_IN_USE',
  409,
  'The category has pets, so it cannot be deleted.',
) {
  constructor(id: bigint) {
    super(`Category ${id} has pets: move or delete them first.`);
  }
}

export class PetInUse extends errorOf(
  'PET_IN_USE',
  409,
  'The pet has orders, so it cannot be deleted.',
) {
  constructor(id: bigint) {
    super(`Pet ${id} has orders, so it cannot be deleted.`);
  }
}

export class PetNotAvailable extends lineErrorOf(
  'PET_NOT_AVAILABLE',
  409,
  'The status of the pet is not AVAILABLE.',
) {
  constructor(id: bigint, line: number | null = null) {
    super(`Pet ${id} is not available.`, line);
  }
}

export class InsufficientStock extends lineErrorOf(
  'INSUFFICIENT_STOCK',
  409,
  'The stock has too few units.',
) {
  readonly available: number;

  constructor(petId: bigint, available: number, line: number | null = null) {
    super(`Pet ${petId} has ${available} units in stock.`, line);
    this.available = available;
  }
}

export class StockLimitExceeded extends errorOf(
  'STOCK_LIMIT_EXCEEDED',
  409,
  'The stock would exceed 2147483647 units.',
) {
  constructor(units: string) {
    super(`With ${units}, the stock would exceed 2147483647 units.`);
  }
}

export class OrderComplete extends errorOf(
  'ORDER_COMPLETE',
  409,
  'The order is complete, so it cannot be cancelled or rescheduled.',
) {
  constructor(id: bigint) {
    super(`Order ${id} is complete, so it cannot be changed.`);
  }
}

export class StaleInventory extends errorOf(
  'STALE_INVENTORY',
  409,
  'The stock does not have the expected quantity.',
) {
  readonly available: number;

  constructor(petId: bigint, available: number) {
    super(`Pet ${petId} now has ${available} units in stock.`);
    this.available = available;
  }
}
