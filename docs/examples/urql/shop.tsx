import type { IntrospectionQuery } from 'graphql';
import { useState } from 'react';
import { createRoot } from 'react-dom/client';
import { Provider, useClient, useMutation, useQuery } from 'urql';

import schema from '../generated/schema.json';
import { PAGE, toReload } from '../lists.ts';
import { openWebSockets, resume } from '../live.ts';
import { describeOrder, type Pet, PETS, PLACE_ORDER, STOCK_CHANGED } from '../operations.ts';
import { forgetKey, keyFor } from '../retries.ts';
import { createUrqlClient } from './client.ts';
import { createLiveExchange, followChanges } from './live.ts';

function Shop() {
  const [message, setMessage] = useState('');
  const client = useClient();
  const [first, setFirst] = useState(PAGE);
  const [{ data: current }] = useQuery({ query: PETS, variables: { first } });
  // If the list cannot be reloaded after a write, the page keeps showing the old one.
  const [data, setData] = useState(current);
  if (current && current !== data) setData(current);
  if (!data) return <p>Loading…</p>;
  const { totalCount, edges, pageInfo } = data.pets;
  const longer = toReload(edges.length + PAGE);
  // Once a page has all the rows that a query may load, the query without `after` also returns the pages after it.
  const loadMore = async () =>
    longer > edges.length
      ? setFirst(longer)
      : client.query(PETS, { first: PAGE, after: pageInfo.endCursor }).toPromise();
  return (
    <>
      <h1>{totalCount} pets</h1>
      <p role="status">{message}</p>
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
  const [{ fetching }, placeOrder] = useMutation(PLACE_ORDER);
  const order = async () => {
    const wanted = { petId: pet.id, quantity: 1 };
    const { data } = await placeOrder({ ...wanted, idempotencyKey: keyFor(wanted) });
    // Without an answer, the next click sends the same key, so that the order is placed once.
    if (data?.placeOrder) forgetKey(wanted);
    onOrder(describeOrder(data?.placeOrder));
  };
  return (
    <li>
      {pet.name}: {pet.availableQuantity}{' '}
      <button disabled={fetching} onClick={() => void order()}>
        Order
      </button>
    </li>
  );
}

/** Follows the stock, and then renders the shop in an element: in this order, no change is missed. */
export async function startShop(element: Element, gateway: string): Promise<void> {
  const url = `${gateway}/graphql`;
  const subscribe = resume(openWebSockets(url.replace('http', 'ws'), async () => ({})));
  const live = [createLiveExchange(subscribe)];
  const client = createUrqlClient(url, schema as unknown as IntrospectionQuery, { live });
  let isShown = false;
  await followChanges(
    client,
    STOCK_CHANGED,
    {},
    {
      // Graphcache cannot clear its whole cache, so the page is reloaded.
      readRows: async () => isShown && location.reload(),
      onChange: () => {},
      onError: (error) => reportError(error),
    },
  );
  isShown = true;
  createRoot(element).render(
    <Provider value={client}>
      <Shop />
    </Provider>,
  );
}
