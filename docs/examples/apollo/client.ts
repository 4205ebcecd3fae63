import { ApolloClient, ApolloLink, HttpLink, InMemoryCache } from '@apollo/client';
import { RetryLink } from '@apollo/client/link/retry';
import { relayStylePagination } from '@apollo/client/utilities';
import { OperationTypeNode } from 'graphql';
import { tap } from 'rxjs';

import { listsToForget, type Result, rowsToForget } from '../lists.ts';

const list = relayStylePagination(['filter', 'orderBy']);

// With `keyFields`, a query that forgets an id fails, instead of caching a copy that nothing updates.
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

/** Removes the lists and rows that a write has made wrong. What is on the screen is read again. */
function forget({ cache }: ApolloClient, result: Result): void {
  const keys = Object.keys(cache.extract() as object);
  for (const name of listsToForget(result)) {
    const [type = '', fieldName = ''] = name.split('.');
    const isOfType = (key: string): boolean =>
      type === 'Query' ? key === 'ROOT_QUERY' : key.startsWith(`${type}:`);
    for (const id of keys.filter(isOfType)) cache.evict({ id, fieldName });
  }
  for (const row of rowsToForget(result)) cache.evict({ id: cache.identify(row) ?? '' });
}

/** Forgets what is wrong after each mutation, and after each change of a subscription. */
const forgetAfterWrites = new ApolloLink((operation, forward) => {
  const results = forward(operation);
  if (operation.operationType === OperationTypeNode.QUERY) return results;
  return results.pipe(
    tap(({ data }) => {
      const written: (Result | null)[] = Object.values(data ?? {});
      operation.client.cache.batch({
        update: () => {
          for (const result of written) if (result) forget(operation.client, result);
        },
      });
    }),
  );
});

const isLive = ({ operationType }: ApolloLink.Operation): boolean =>
  operationType === OperationTypeNode.SUBSCRIPTION;

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

/**
 * Creates a client of a gateway. `possibleTypes` are those of its schema; `live` sends subscriptions,
 * as `createLiveLink` does.
 */
export const createApolloClient = (
  uri: string,
  possibleTypes: Record<string, string[]>,
  { fetch = globalThis.fetch, live }: { fetch?: typeof globalThis.fetch; live?: ApolloLink } = {},
): ApolloClient => {
  const http = ApolloLink.from([retry, new HttpLink({ uri, fetch })]);
  return new ApolloClient({
    cache: new InMemoryCache({
      // The pattern is for errors of later releases: what has the fields of an error is one.
      possibleTypes: { ...possibleTypes, Error: [...(possibleTypes['Error'] ?? []), '.+'] },
      typePolicies,
    }),
    link: forgetAfterWrites.concat(live ? ApolloLink.split(isLive, live, http) : http),
    // With 'all', an order is returned even if other rows cannot be read after it.
    defaultOptions: { mutate: { errorPolicy: 'all' } },
  });
};
