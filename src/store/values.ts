import { z } from 'zod';

export const MAX_QUANTITY = 2_147_483_647;

const Quantity = z
  .int('must be a whole number.')
  .max(MAX_QUANTITY, `must be at most ${MAX_QUANTITY}.`);

/** Units in stock: 0 to 2147483647. */
export const StockQuantity = Quantity.min(0, 'must not be negative.').meta({ format: 'int32' });

/** Units ordered: 1 to 2147483647. */
export const OrderQuantity = Quantity.min(1, 'must be at least 1.').meta({ format: 'int32' });
