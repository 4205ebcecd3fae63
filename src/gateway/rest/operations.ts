import type { RestOperation } from './operation.ts';
import { listOrders } from './orders.ts';
import { getPet } from './pets.ts';

/** All operations of REST. */
export const OPERATIONS: readonly RestOperation[] = [getPet, listOrders];
