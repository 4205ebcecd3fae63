import {
  ApolloClient,
  ApolloLink,
  CombinedGraphQLErrors,
  type FieldMergeFunction,
  type FieldPolicy,
  type FieldReadFunction,
  HttpLink,
  InMemoryCache,
} from '@apollo/client';
import { RetryLink } from '@apollo/client/link/retry';
import { relayStylePagination } from '@apollo/client/utilities';
import { OperationTypeNode } from 'graphql';
import { tap } from 'rxjs';

import { collect, listsToForget, type Result, rowsToForget } from '../lists.ts';
import { mayPass } from '../retries.ts';
import { createRenewLink } from './renew-token.ts';

const keyArgs = ['filter', 'orderBy'];
const pages = relayStylePagination(keyArgs) as {
  read: FieldReadFunction;
  merge: FieldMergeFunction;
};

// A query for the groups or the count of a list brings no rows. `pages` would keep it as an empty list, and show that to
// queries for the rows.
const list: FieldPolicy = {
  keyArgs,
  read: (stored, options) => (stored?.edges ? pages.read(stored, options) : stored),
  merge: (stored, incoming, options) =>
    stored?.edges || incoming?.edges
      ? { ...stored, ...pages.merge(stored?.edges && stored, incoming, options) }
      : incoming && { ...stored, ...incoming },
};

// With `keyFields`, a query that does not select an object's id fails, instead of caching a copy that is never updated.
const typePolicies = {
  Query: { fields: { categories: list, pets: list, inventory: list, orders: list } },
  Category: { keyFields: ['id'], fields: { pets: list } },
  Pet: { keyFields: ['id'], fields: { orders: list } },
  Order: { keyFields: ['id'] },
  InventoryItem: { keyFields: ['id'] },
};

// A retried write without a key could be made twice.
const retry = new RetryLink({
  attempts: {
    max: 3,
    retryIf: (_error, { operationType, variables }) =>
      operationType === OperationTypeNode.QUERY || variables['idempotencyKey'] != null,
  },
});

// RetryLink repeats a request only if an exception is thrown, which has no data: so a result with data is passed on.
const throwPassing = new ApolloLink((operation, forward) =>
  forward(operation).pipe(
    tap((result) => {
      const hasData = Object.values(result.data ?? {}).some((field) => field !== null);
      if (!hasData && mayPass(result.errors)) throw new CombinedGraphQLErrors(result);
    }),
  ),
);

/** Evicts the lists that writes have made stale. Apollo reloads the lists that are on screen. */
function forgetLists({ cache }: ApolloClient, results: readonly Result[]): void {
  const keys = Object.keys(cache.extract() as object);
  const evictAll = (): void => {
    for (const name of new Set(results.flatMap(listsToForget))) {
      const [type = '', fieldName = ''] = name.split('.');
      const isOfType = (key: string): boolean =>
        type === 'Query' ? key === 'ROOT_QUERY' : key.startsWith(`${type}:`);
      for (const id of keys.filter(isOfType)) cache.evict({ id, fieldName });
    }
  };
  cache.batch({ update: evictAll });
}

/** Evicts stale lists and objects after each mutation, and after the changes of a subscription. */
const forgetAfterWrites = new ApolloLink((operation, forward) => {
  const results = forward(operation);
  if (operation.operationType === OperationTypeNode.QUERY) return results;
  const { cache } = operation.client;
  const forget = (written: readonly Result[]): void => forgetLists(operation.client, written);
  const onResult =
    operation.operationType === OperationTypeNode.MUTATION
      ? (result: Result) => forget([result])
      : collect(forget);
  return results.pipe(
    tap(({ data }) => {
      const written: (Result | null)[] = Object.values(data ?? {});
      for (const result of written) {
        if (!result) continue;
        for (const row of rowsToForget(result)) cache.evict({ id: cache.identify(row) ?? '' });
        if (listsToForget(result).length > 0) onResult(result);
      }
    }),
  );
});

const isLive = ({ operationType }: ApolloLink.Operation): boolean =>
  operationType === OperationTypeNode.SUBSCRIPTION;

// Apollo's types require this for a default error policy of mutations.
declare module '@apollo/client' {
  namespace ApolloClient {
    namespace DeclareDefaultOptions {
      interface Mutate {
        errorPolicy: 'all';
      }
    }
  }
}

interface ClientOptions {
  /** Adds the token to each request, for example. */
  fetch?: typeof globalThis.fetch;
  /** The link for subscriptions, such as that of `createLiveLink`. */
  live?: ApolloLink;
  /** Gets a new token when the gateway rejects the old one, and keeps it for `fetch`. */
  renew?: () => Promise<unknown>;
}

/** Creates a client for a gateway. `possibleTypes` are those of its schema. */
export const createApolloClient = (
  uri: string,
  possibleTypes: Record<string, string[]>,
  { fetch = globalThis.fetch, live, renew }: ClientOptions = {},
): ApolloClient => {
  const links = [retry, throwPassing, new HttpLink({ uri, fetch })];
  const http = ApolloLink.from(renew ? [createRenewLink(renew), ...links] : links);
  return new ApolloClient({
    cache: new InMemoryCache({
      // The pattern is for error types that later releases add: a result with an error's fields counts as an error.
      possibleTypes: { ...possibleTypes, Error: [...(possibleTypes['Error'] ?? []), '.+'] },
      typePolicies,
    }),
    link: forgetAfterWrites.concat(live ? ApolloLink.split(isLive, live, http) : http),
    // With 'all', an order is returned even if related objects cannot be read.
    defaultOptions: { mutate: { errorPolicy: 'all' } },
  });
};
