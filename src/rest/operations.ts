import type { Operation } from './operation.ts';
import { listOrders } from './orders.ts';
import { getPet } from './pets.ts';

/** Every operation of REST. */
export const OPERATIONS: readonly Operation[] = [getPet, listOrders];
