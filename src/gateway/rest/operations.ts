import { listOrders } from '../../store/order/rest.ts';
import { getPet } from '../../store/pet/rest.ts';
import type { RestOperation } from './operation.ts';

/** All operations of REST. */
export const OPERATIONS: readonly RestOperation[] = [getPet, listOrders];
