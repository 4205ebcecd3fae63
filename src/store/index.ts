import type { Store } from '../gateway/index.ts';
import './category/schema.ts';
import './pet/schema.ts';
import './inventory/schema.ts';
import './order/schema.ts';
import { store } from './builder.ts';
import { MIGRATIONS } from './migrations.ts';
import { listOrders } from './order/rest.ts';
import { getPet } from './pet/rest.ts';
import { RESOURCES } from './resources.ts';
import { fillSample } from './sample.ts';
import { pages } from './start-page.ts';

/** The pet store, in the form that the gateway serves. */
export const petStore: Store = {
  title: 'Pet store',
  migrations: MIGRATIONS,
  ...store.createSchema(),
  fillSample,
  rest: { routes: [getPet, listOrders], resources: RESOURCES },
  pages,
};
