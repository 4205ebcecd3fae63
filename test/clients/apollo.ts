import {
  type ApolloCache,
  ApolloClient,
  ApolloLink,
  HttpLink,
  InMemoryCache,
} from '@apollo/client';
import { RetryLink } from '@apollo/client/link/retry';
import { relayStylePagination } from '@apollo/client/utilities';
import { OperationTypeNode } from 'graphql';

const list = relayStylePagination(['filter', 'orderBy']);

const typePolicies = {
  Query: { fields: { categories: list, pets: list, inventory: list, orders: list } },
  Category: { keyFields: ['id'], fields: { pets: list } },
  Pet: { keyFields: ['id'], fields: { orders: list } },
  Order: { keyFields: ['id'] },
  InventoryItem: { keyFields: ['id'] },
};

// A write without a key could be done twice.
const retry = new RetryLink({
  attempts: {
    max: 3,
    retryIf: (_error, { operationType, variables }) =>
      operationType === OperationTypeNode.QUERY || variables['idempotencyKey'] != null,
  },
});

// Errors have neither an id nor orders.
interface Row {
  readonly __typename: string;
  readonly id?: string;
}
interface Order extends Row {
  readonly pet?: Row;
}
interface Writes {
  readonly placeOrder?: Order;
  readonly placeOrders?: { readonly orders?: readonly Order[] };
  readonly cancelOrder?: Order;
  readonly deletePet?: Row;
}

const keyOf = (cache: ApolloCache, row: Row): string => cache.identify({ ...row }) ?? '';

/** Removes the lists that new orders are in. They are read again when they are needed. */
function forgetLists(cache: ApolloCache, orders: readonly Order[]): void {
  cache.evict({ id: 'ROOT_QUERY', fieldName: 'orders' });
  for (const { pet } of orders) {
    if (pet) cache.evict({ id: keyOf(cache, pet), fieldName: 'orders' });
  }
}

/** Removes rows that were deleted, also from every list. */
function forgetRows(cache: ApolloCache, ...rows: readonly Row[]): void {
  for (const row of rows) cache.evict({ id: keyOf(cache, row) });
  cache.gc();
}

// The types of Apollo require this for an error policy of all mutations.
declare module '@apollo/client' {
  namespace ApolloClient {
    namespace DeclareDefaultOptions {
      interface Mutate {
        errorPolicy: 'all';
      }
    }
  }
}

/** Changes what a write has made wrong beyond the rows that it returns. */
function update(cache: ApolloCache, { data }: { data?: Writes | null }): void {
  const { placeOrder, placeOrders, cancelOrder, deletePet } = data ?? {};
  if (placeOrder?.id) forgetLists(cache, [placeOrder]);
  if (placeOrders?.orders) forgetLists(cache, placeOrders.orders);
  if (cancelOrder?.id) forgetRows(cache, cancelOrder);
  if (deletePet?.id) {
    forgetRows(cache, deletePet, { __typename: 'InventoryItem', id: deletePet.id });
  }
}

/** Creates a client of a gateway; `possibleTypes` are those of its schema. */
export const createApolloClient = (
  uri: string,
  possibleTypes: Record<string, string[]>,
  fetch = globalThis.fetch,
): ApolloClient =>
  new ApolloClient({
    cache: new InMemoryCache({
      // The pattern is for errors of later releases: what has the fields of an error is one.
      possibleTypes: { ...possibleTypes, Error: [...(possibleTypes['Error'] ?? []), '.+'] },
      typePolicies,
    }),
    link: ApolloLink.from([retry, new HttpLink({ uri, fetch })]),
    // With 'all', an order is returned even if other rows cannot be read after it.
    defaultOptions: { mutate: { errorPolicy: 'all', update } },
  });
