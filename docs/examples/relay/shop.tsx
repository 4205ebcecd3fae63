import { Suspense, useState } from 'react';
import { createRoot } from 'react-dom/client';
import {
  graphql,
  RelayEnvironmentProvider,
  useFragment,
  useLazyLoadQuery,
  useMutation,
  usePaginationFragment,
  useRelayEnvironment,
  useSubscribeToInvalidationState,
} from 'react-relay';
import { commitLocalUpdate, fetchQuery } from 'relay-runtime';

import { PAGE, toReload } from '../lists.ts';
import { openWebSockets, resume } from '../live.ts';
import { forgetKey, keyFor } from '../retries.ts';
import type { shopItem$key } from './__generated__/shopItem.graphql.ts';
import type { shopOrderMutation } from './__generated__/shopOrderMutation.graphql.ts';
import type { shopPets$key } from './__generated__/shopPets.graphql.ts';
import PETS_PAGE, { type shopPetsPageQuery } from './__generated__/shopPetsPageQuery.graphql.ts';
import type { shopQuery } from './__generated__/shopQuery.graphql.ts';
import type { shopStockSubscription } from './__generated__/shopStockSubscription.graphql.ts';
import { createEnvironment, forgetAfterWrites } from './environment.ts';
import { createLiveFunction, followChanges } from './live.ts';

const QUERY = graphql`
  query shopQuery {
    ...shopPets
  }
`;

/** A page of the pets that are for sale. */
const PETS = graphql`
  fragment shopPets on Query
  @argumentDefinitions(count: { type: "Int", defaultValue: 5 }, cursor: { type: "String" })
  @refetchable(queryName: "shopPetsPageQuery") {
    pets(
      first: $count
      after: $cursor
      filter: { status: [AVAILABLE], inStock: true }
      orderBy: { field: NAME }
    ) @connection(key: "shop_pets") {
      totalCount
      edges {
        node {
          id
          ...shopItem
        }
      }
    }
  }
`;

const ITEM = graphql`
  fragment shopItem on Pet {
    id
    name
    availableQuantity
  }
`;

/** Places an order. Selects the pet, because its stock changes. */
const PLACE_ORDER = graphql`
  mutation shopOrderMutation($petId: ID!, $quantity: Int!, $idempotencyKey: String!) {
    placeOrder(input: { petId: $petId, quantity: $quantity }, idempotencyKey: $idempotencyKey) {
      __typename
      ... on Order {
        pet {
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
`;

/** Each change of the stock, with the fields that the page shows. */
const STOCK_CHANGED = graphql`
  subscription shopStockSubscription($after: String) {
    inventoryChanged(after: $after) {
      __typename
      cursor
      kind
      petId
      inventoryItem {
        pet {
          availableQuantity
        }
      }
    }
  }
`;

const FAILED = 'The order failed. Please try again.';

function Shop() {
  const [message, setMessage] = useState('');
  const query = useLazyLoadQuery<shopQuery>(QUERY, {});
  const { data, hasNext, loadNext } = usePaginationFragment<shopPetsPageQuery, shopPets$key>(
    PETS,
    query,
  );
  const { totalCount, edges } = data.pets;
  const environment = useRelayEnvironment();
  // The result replaces the list in the store. If the request fails, the page keeps showing the old list; `refetch`
  // would throw the error while the page is rendered.
  useSubscribeToInvalidationState([], () => {
    const variables = { count: toReload(edges.length) };
    fetchQuery<shopPetsPageQuery>(environment, PETS_PAGE, variables).subscribe({
      error: reportError,
    });
  });
  return (
    <>
      <h1>{totalCount} pets</h1>
      <p role="status">{message}</p>
      <ul>
        {edges.map(({ node }) => (
          <Item key={node.id} pet={node} onOrder={setMessage} />
        ))}
      </ul>
      {hasNext && <button onClick={() => void loadNext(PAGE)}>More</button>}
    </>
  );
}

function Item({ pet, onOrder }: { pet: shopItem$key; onOrder: (message: string) => void }) {
  const { id, name, availableQuantity } = useFragment(ITEM, pet);
  const [placeOrder, isOrdering] = useMutation<shopOrderMutation>(PLACE_ORDER);
  const order = () => {
    const wanted = { petId: id, quantity: 1 };
    placeOrder({
      variables: { ...wanted, idempotencyKey: keyFor(wanted) },
      updater: forgetAfterWrites,
      onCompleted: ({ placeOrder: result }) => {
        // Without an answer, the next click sends the same key, so that the order is placed once.
        if (result) forgetKey(wanted);
        // The pet is null if it could not be read after the order was placed.
        onOrder(
          result?.__typename === 'Order'
            ? `You ordered ${result.pet?.name ?? 'a pet'}.`
            : (result?.message ?? FAILED),
        );
      },
      onError: () => onOrder(FAILED),
    });
  };
  return (
    <li>
      {name}: {availableQuantity}{' '}
      <button disabled={isOrdering} onClick={order}>
        Order
      </button>
    </li>
  );
}

/** Follows the stock, and then renders the shop in an element: in this order, no change is missed. */
export async function startShop(element: Element, gateway: string): Promise<void> {
  const url = `${gateway}/graphql`;
  const subscribe = resume(openWebSockets(url.replace('http', 'ws'), async () => ({})));
  const environment = createEnvironment(url, fetch, createLiveFunction(subscribe));
  await followChanges<shopStockSubscription>(
    environment,
    STOCK_CHANGED,
    {},
    {
      readRows: async () => commitLocalUpdate(environment, (store) => store.invalidateStore()),
      onChange: () => {},
      onError: (error) => reportError(error),
    },
  );
  createRoot(element).render(
    <RelayEnvironmentProvider environment={environment}>
      <Suspense fallback={<p>Loading…</p>}>
        <Shop />
      </Suspense>
    </RelayEnvironmentProvider>,
  );
}
