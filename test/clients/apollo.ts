import {
  type ApolloCache,
  ApolloClient,
  ApolloLink,
  gql,
  HttpLink,
  InMemoryCache,
  type TypedDocumentNode,
} from '@apollo/client';
import { RetryLink } from '@apollo/client/link/retry';
import { relayStylePagination } from '@apollo/client/utilities';
import { OperationTypeNode } from 'graphql';

import { DELETE_PET, PLACE_ORDER } from './operations.ts';

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
  });

// Errors have no id.
type Result = Readonly<Record<string, { readonly id?: string }>>;

const keyOf = (cache: ApolloCache, __typename: string, id: string): string =>
  cache.identify({ __typename, id }) ?? '';

const placeOrderMutation: TypedDocumentNode<Result> = gql(PLACE_ORDER);
const deletePetMutation: TypedDocumentNode<Result> = gql(DELETE_PET);

/** Places an order. The lists of orders are read again when they are needed. */
export const placeOrder = (client: ApolloClient, input: { petId: string; quantity: number }) =>
  client.mutate({
    mutation: placeOrderMutation,
    variables: { input, idempotencyKey: crypto.randomUUID() },
    // Returns the order even if other rows cannot be read after it.
    errorPolicy: 'all',
    update: (cache, { data }) => {
      if (!data?.['placeOrder']?.id) return;
      cache.evict({ id: 'ROOT_QUERY', fieldName: 'orders' });
      cache.evict({ id: keyOf(cache, 'Pet', input.petId), fieldName: 'orders' });
    },
  });

/** Deletes a pet, and removes it from every list. */
export const deletePet = (client: ApolloClient, id: string) =>
  client.mutate({
    mutation: deletePetMutation,
    variables: { id },
    errorPolicy: 'all',
    update: (cache, { data }) => {
      if (!data?.['deletePet']?.id) return;
      cache.evict({ id: keyOf(cache, 'Pet', id) });
      cache.evict({ id: keyOf(cache, 'InventoryItem', id) });
      cache.gc();
    },
  });
