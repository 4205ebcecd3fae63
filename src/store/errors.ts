import { type ErrorCodes, GatewayError } from '../gateway/index.ts';

/** The error codes of the pet store: the HTTP status of each, and when it is returned. */
export const ERRORS = {
  CATEGORY_NOT_FOUND: { status: 404, description: 'The category does not exist.' },
  PET_NOT_FOUND: { status: 404, description: 'The pet does not exist.' },
  ORDER_NOT_FOUND: { status: 404, description: 'The order does not exist.' },
  CATEGORY_IN_USE: { status: 409, description: 'The category has pets, so it cannot be deleted.' },
  PET_IN_USE: { status: 409, description: 'The pet has orders, so it cannot be deleted.' },
  PET_NOT_AVAILABLE: { status: 409, description: 'The status of the pet is not AVAILABLE.' },
  INSUFFICIENT_STOCK: { status: 409, description: 'The stock has too few units.' },
  STOCK_LIMIT_EXCEEDED: { status: 409, description: 'The stock would exceed 2147483647 units.' },
  STALE_INVENTORY: { status: 409, description: 'The stock does not have the expected quantity.' },
  ORDER_COMPLETE: {
    status: 409,
    description: 'The order is complete, so it cannot be cancelled or rescheduled.',
  },
} as const satisfies ErrorCodes;

type ErrorCode = keyof typeof ERRORS;

/** An error of the pet store. */
class PetStoreError extends GatewayError {
  constructor(code: ErrorCode, message: string) {
    super({ code, ...ERRORS[code] }, message);
  }
}

export class CategoryNotFound extends PetStoreError {
  constructor(id: bigint) {
    super('CATEGORY_NOT_FOUND', `There is no category ${id}.`);
  }
}

/** An error that may be about one line of several: `line` is its index, from 0; otherwise null. */
class LineError extends PetStoreError {
  readonly line: number | null;

  constructor(code: ErrorCode, message: string, line: number | null) {
    super(code, message);
    this.line = line;
  }
}

export class PetNotFound extends LineError {
  constructor(id: bigint, line: number | null = null) {
    super('PET_NOT_FOUND', `There is no pet ${id}.`, line);
  }
}

export class OrderNotFound extends PetStoreError {
  constructor(id: bigint) {
    super('ORDER_NOT_FOUND', `There is no order ${id}.`);
  }
}

export class CategoryInUse extends PetStoreError {
  constructor(id: bigint) {
    super('CATEGORY_IN_USE', `Category ${id} has pets: move or delete them first.`);
  }
}

export class PetInUse extends PetStoreError {
  constructor(id: bigint) {
    super('PET_IN_USE', `Pet ${id} has orders, so it cannot be deleted.`);
  }
}

export class PetNotAvailable extends LineError {
  constructor(id: bigint, line: number | null = null) {
    super('PET_NOT_AVAILABLE', `Pet ${id} is not available.`, line);
  }
}

export class InsufficientStock extends LineError {
  readonly available: number;

  constructor(petId: bigint, available: number, line: number | null = null) {
    super('INSUFFICIENT_STOCK', `Pet ${petId} has ${available} units in stock.`, line);
    this.available = available;
  }
}

export class StockLimitExceeded extends PetStoreError {
  constructor(units: string) {
    super('STOCK_LIMIT_EXCEEDED', `With ${units}, the stock would exceed 2147483647 units.`);
  }
}

export class OrderComplete extends PetStoreError {
  constructor(id: bigint) {
    super('ORDER_COMPLETE', `Order ${id} is complete, so it cannot be changed.`);
  }
}

export class StaleInventory extends PetStoreError {
  readonly available: number;

  constructor(petId: bigint, available: number) {
    super('STALE_INVENTORY', `Pet ${petId} now has ${available} units in stock.`);
    this.available = available;
  }
}
