import { initGraphQLTada, type ResultOf } from 'gql.tada';

import type { introspection } from './graphql-env.d.ts';

// The compiler infers the types of an operation from the schema.
const graphql = initGraphQLTada<{
  introspection: introspection;
  scalars: { BigInt: number | string; Date: string; DateTime: string; ID: string };
}>();

/** Pets that are for sale. */
export const PETS = graphql(`
  query Pets($first: Int!, $after: String) {
    pets(
      first: $first
      after: $after
      filter: { status: [AVAILABLE], inStock: true }
      orderBy: { field: NAME }
    ) {
      totalCount
      edges {
        node {
          id
          name
          availableQuantity
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
`);

export type Pet = ResultOf<typeof PETS>['pets']['edges'][number]['node'];

/** Places an order. Selects the pet, because its stock changes. */
export const PLACE_ORDER = graphql(`
  mutation PlaceOrder($petId: ID!, $quantity: Int!, $idempotencyKey: String!) {
    placeOrder(input: { petId: $petId, quantity: $quantity }, idempotencyKey: $idempotencyKey) {
      __typename
      ... on Order {
        id
        pet {
          id
          name
          availableQuantity
        }
      }
      ... on Error {
        code
        message
      }
    }
  }
`);

type Ordered = ResultOf<typeof PLACE_ORDER>['placeOrder'];

/** Returns the message to show the user about an order. `result` is null or undefined if the request failed. */
export function describeOrder(result: Ordered | null | undefined): string {
  if (!result) return 'The order failed. Please try again.';
  // The pet is null if it could not be read after the order was placed.
  if (result.__typename === 'Order') return `You ordered ${result.pet?.name ?? 'a pet'}.`;
  return result.message;
}

/** Each change of the stock, with the fields that the page shows. */
export const STOCK_CHANGED = graphql(`
  subscription StockChanged($after: String) {
    inventoryChanged(after: $after) {
      __typename
      cursor
      kind
      petId
      inventoryItem {
        id
        pet {
          id
          availableQuantity
        }
      }
    }
  }
`);
