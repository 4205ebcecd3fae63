import { type Cache, cacheExchange, type Resolver } from '@urql/exchange-graphcache';
import { relayPagination } from '@urql/exchange-graphcache/extras';
import { retryExchange } from '@urql/exchange-retry';
import type { GraphQLError, IntrospectionQuery } from 'graphql';
import { Client, CombinedError, type Exchange, fetchExchange, mapExchange } from 'urql';

import { listsToForget, type Result, rowsToForget } from '../lists.ts';
import { mayPass } from '../retries.ts';

/** Returns the names of a type's fields. */
const fieldsOf = ({ __schema }: IntrospectionQuery, type: string): string[] =>
  __schema.types.flatMap((each) =>
    each.kind === 'OBJECT' && each.name === type ? each.fields.map(({ name }) => name) : [],
  );

/** Gives each type without an `id`, such as an error or a list, a null key: Graphcache then stores it in its parent. */
const keysOf = ({ __schema }: IntrospectionQuery): Record<string, () => null> =>
  Object.fromEntries(
    __schema.types
      .filter((type) => type.kind === 'OBJECT' && !type.fields.some(({ name }) => name === 'id'))
      .map(({ name }) => [name, () => null]),
  );

/** Creates a cache that appends the pages of a list, and evicts what a write has made stale. */
function createCache(schema: IntrospectionQuery): Exchange {
  // The keys and types of the objects whose lists were read, including Query: Graphcache cannot enumerate its objects.
  const parents = new Map<string, string>();
  const readPages = relayPagination();
  const list: Resolver = (parent, args, cache, info) => {
    parents.set(info.parentKey, info.parentTypeName);
    if ('first' in args || 'last' in args) return readPages(parent, args, cache, info);
    // Not a page, but the groups or the count of a list. Graphcache's key of a field without arguments has no `{}`.
    const hasArgs = Object.keys(args).length > 0;
    return cache.resolve(info.parentKey, info.fieldName, hasArgs ? args : null);
  };

  const forget = (cache: Cache, result: Result): void => {
    const lists = listsToForget(result);
    for (const [key, type] of parents) {
      for (const { fieldName, fieldKey } of cache.inspectFields(key)) {
        if (lists.includes(`${type}.${fieldName}`)) cache.invalidate(key, fieldKey);
      }
    }
    for (const row of rowsToForget(result)) cache.invalidate(row);
  };

  // A result is null if `moveLaterErrors` has moved it.
  const update = (data: Record<string, Result | null>, _variables: unknown, cache: Cache): void => {
    for (const result of Object.values(data)) if (result) forget(cache, result);
  };
  const updatesOf = (type: 'Mutation' | 'Subscription') =>
    Object.fromEntries(fieldsOf(schema, type).map((field) => [field, update]));

  return cacheExchange({
    schema,
    keys: keysOf(schema),
    resolvers: {
      Query: { categories: list, pets: list, inventory: list, orders: list },
      Category: { pets: list },
      Pet: { orders: list },
    },
    updates: {
      Mutation: updatesOf('Mutation'),
      Subscription: updatesOf('Subscription'),
    },
  });
}

type Fields = Readonly<Record<string, { __typename?: string; message?: string } | null>>;

/**
 * Moves each error whose type is not in the schema from the data to `error`: Graphcache never delivers a result that
 * contains such a type.
 */
function moveLaterErrors({ __schema }: IntrospectionQuery): Exchange {
  const known = new Set(['Mutation', ...__schema.types.map(({ name }) => name)]);
  return mapExchange({
    onResult: (result) => {
      const fields = Object.entries((result.data ?? {}) as Fields);
      const data: Record<string, unknown> = {};
      const oldErrors = result.error?.graphQLErrors ?? [];
      const graphQLErrors: Partial<GraphQLError>[] = [...oldErrors];
      for (const [name, value] of fields) {
        const { __typename = 'Mutation', message = '' } = value ?? {};
        data[name] = known.has(__typename) ? value : null;
        if (!known.has(__typename)) graphQLErrors.push({ message, extensions: { ...value } });
      }
      if (graphQLErrors.length === oldErrors.length) return result;
      return { ...result, data, error: new CombinedError({ graphQLErrors }) };
    },
  });
}

/**
 * Creates a client for a gateway. `schema` is the result of an introspection query; `live` has the exchange
 * for subscriptions, such as that of `createLiveExchange`.
 */
export const createUrqlClient = (
  url: string,
  schema: IntrospectionQuery,
  { live = [], ...options }: { fetch?: typeof fetch; live?: Exchange[] } = {},
): Client =>
  new Client({
    url,
    exchanges: [
      createCache(schema),
      retryExchange({
        initialDelayMs: 300,
        maxNumberAttempts: 3,
        // A retried write without a key could be made twice.
        retryIf: ({ networkError, graphQLErrors }, { kind, variables }) =>
          (networkError !== undefined || mayPass(graphQLErrors)) &&
          (kind === 'query' || variables?.['idempotencyKey'] != null),
      }),
      moveLaterErrors(schema),
      ...live,
      fetchExchange,
    ],
    ...options,
  });
