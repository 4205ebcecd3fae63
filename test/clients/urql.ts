import { Client, CombinedError, type Exchange, fetchExchange, mapExchange } from '@urql/core';
import { type Cache, cacheExchange, type UpdatesConfig } from '@urql/exchange-graphcache';
import { relayPagination } from '@urql/exchange-graphcache/extras';
import { retryExchange } from '@urql/exchange-retry';
import type { GraphQLError, IntrospectionQuery } from 'graphql';

import { liveUpdates } from './live-urql.ts';

const list = relayPagination();

const resolvers = {
  Query: { categories: list, pets: list, inventory: list, orders: list },
  Category: { pets: list },
  Pet: { orders: list },
};

/** Only rows have ids. Graphcache stores an error or a list inside the object that has it. */
const keysOf = ({ __schema }: IntrospectionQuery): Record<string, () => null> =>
  Object.fromEntries(
    __schema.types
      .filter((type) => type.kind === 'OBJECT' && !type.fields.some(({ name }) => name === 'id'))
      .map(({ name }) => [name, () => null]),
  );

// Errors have neither an id nor orders.
type Row = { readonly __typename: string; readonly id?: string };
type Order = Row & { readonly pet?: Row };
type Orders = { readonly orders?: readonly Order[] };

/** Removes the lists of a field, which are read again when they are needed. */
function forgetLists(cache: Cache, entity: 'Query' | Row, field: string): void {
  for (const { fieldName, fieldKey } of cache.inspectFields(entity)) {
    if (fieldName === field) cache.invalidate(entity, fieldKey);
  }
}

/** Removes the lists of orders that have new ones. */
function forgetOrders(cache: Cache, orders: readonly Order[]): void {
  forgetLists(cache, 'Query', 'orders');
  for (const { pet } of orders) if (pet) forgetLists(cache, pet, 'orders');
}

// A result is null if `moveLaterErrors` has moved it.
const updates: UpdatesConfig = {
  ...liveUpdates,
  Mutation: {
    placeOrder: ({ placeOrder }: { placeOrder: Order | null }, _variables, cache) => {
      if (placeOrder?.id) forgetOrders(cache, [placeOrder]);
    },
    placeOrders: ({ placeOrders }: { placeOrders: Orders | null }, _variables, cache) => {
      if (placeOrders?.orders) forgetOrders(cache, placeOrders.orders);
    },
    cancelOrder: ({ cancelOrder }: { cancelOrder: Order | null }, _variables, cache) => {
      if (cancelOrder?.id) cache.invalidate(cancelOrder);
    },
    deletePet: ({ deletePet }: { deletePet: Row | null }, _variables, cache) => {
      if (!deletePet?.id) return;
      cache.invalidate(deletePet);
      cache.invalidate({ __typename: 'InventoryItem', id: deletePet.id });
    },
  },
};

type Fields = Readonly<Record<string, { __typename?: string; message?: string } | null>>;

/**
 * Moves errors of later releases from the data to `error`: Graphcache never answers if there is a
 * type that its schema does not have.
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

/** Creates a client of a gateway; `schema` is the result of an introspection query. */
export const createUrqlClient = (
  url: string,
  schema: IntrospectionQuery,
  { live = [], ...options }: { fetch?: typeof fetch; live?: Exchange[] } = {},
): Client =>
  new Client({
    url,
    exchanges: [
      cacheExchange({ schema, keys: keysOf(schema), resolvers, updates }),
      retryExchange({
        initialDelayMs: 300,
        maxNumberAttempts: 3,
        // A write without a key could be done twice.
        retryIf: ({ networkError }, { kind, variables }) =>
          networkError !== undefined && (kind === 'query' || variables?.['idempotencyKey'] != null),
      }),
      moveLaterErrors(schema),
      ...live,
      fetchExchange,
    ],
    ...options,
  });
