import { ApolloProvider, useMutation, useQuery } from '@apollo/client/react';
import { useState } from 'react';
import { createRoot } from 'react-dom/client';

import possibleTypes from '../generated/possible-types.json';
import { PAGE, toReload } from '../lists.ts';
import { openWebSockets, resume } from '../live.ts';
import { describeOrder, type Pet, PETS, PLACE_ORDER, STOCK_CHANGED } from '../operations.ts';
import { forgetKey, keyFor } from '../retries.ts';
import { createApolloClient } from './client.ts';
import { createLiveLink, followChanges } from './live.ts';

function Shop() {
  const [message, setMessage] = useState('');
  // The pages that `fetchMore` loads are in the cache, so a larger `first` only matters when the list is reloaded.
  const [first, setFirst] = useState(PAGE);
  const pets = useQuery(PETS, { variables: { first } });
  // While the list is reloaded after a write, the page keeps showing the old one.
  const data = pets.data ?? pets.previousData;
  if (!data) return <p>Loading…</p>;
  const { totalCount, edges, pageInfo } = data.pets;
  const loadMore = async () => {
    await pets.fetchMore({ variables: { first: PAGE, after: pageInfo.endCursor } });
    setFirst(toReload(edges.length + PAGE));
  };
  return (
    <>
      <h1>{totalCount} pets</h1>
      <p role="status">{message}</p>
      {/* Apollo does not reload the list at later writes if this has failed once. */}
      {pets.error && <button onClick={() => void pets.refetch()}>Reload</button>}
      <ul>
        {edges.map(({ node }) => (
          <Item key={node.id} pet={node} onOrder={setMessage} />
        ))}
      </ul>
      {pageInfo.hasNextPage && <button onClick={() => void loadMore()}>More</button>}
    </>
  );
}

function Item({ pet, onOrder }: { pet: Pet; onOrder: (message: string) => void }) {
  const [placeOrder, { loading }] = useMutation(PLACE_ORDER);
  const order = async () => {
    const wanted = { petId: pet.id, quantity: 1 };
    const variables = { ...wanted, idempotencyKey: keyFor(wanted) };
    const { data } = await placeOrder({ variables });
    // Without an answer, the next click sends the same key, so that the order is placed once.
    if (data?.placeOrder) forgetKey(wanted);
    onOrder(describeOrder(data?.placeOrder));
  };
  return (
    <li>
      {pet.name}: {pet.availableQuantity}{' '}
      <button disabled={loading} onClick={() => void order()}>
        Order
      </button>
    </li>
  );
}

/** Follows the stock, and then renders the shop in an element: in this order, no change is missed. */
export async function startShop(element: Element, gateway: string): Promise<void> {
  const url = `${gateway}/graphql`;
  const subscribe = resume(openWebSockets(url.replace('http', 'ws'), async () => ({})));
  const client = createApolloClient(url, possibleTypes, { live: createLiveLink(subscribe) });
  await followChanges(
    client,
    STOCK_CHANGED,
    {},
    {
      readRows: () => client.refetchQueries({ include: 'active' }),
      onChange: () => {},
      onError: (error) => reportError(error),
    },
  );
  createRoot(element).render(
    <ApolloProvider client={client}>
      <Shop />
    </ApolloProvider>,
  );
}
