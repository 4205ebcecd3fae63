import type { Store } from '../gateway/index.ts';
import './category/schema.ts';
import './pet/schema.ts';
import './inventory/schema.ts';
import './order/schema.ts';
import { changedTypes, createSchema, errorCodes } from './builder.ts';
import { PetNotFound } from './errors.ts';
import type { PrismaClient } from './generated/prisma/client.ts';
import { listOrders } from './order/rest.ts';
import { getPet } from './pet/rest.ts';
import { petModel } from './prisma.ts';
import { RESOURCES } from './resources.ts';
import { fillSampleStore } from './sample.ts';
import { pages } from './start-page.ts';

/** The pet store: all that the gateway knows of it. */
export const petStore: Store<PrismaClient> = {
  title: 'Pet store',
  model: petModel,
  schema: createSchema(),
  changedTypes,
  errorCodes,
  fillSample: fillSampleStore,
  rest: {
    operations: [getPet, listOrders],
    resources: RESOURCES,
    tags: [
      { name: 'Pets', description: 'The pets of the store.' },
      { name: 'Store', description: 'The orders of the store.' },
    ],
    exampleError: new PetNotFound(7n),
  },
  pages,
};
