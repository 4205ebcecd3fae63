import {
  type InfiniteData,
  InfiniteQueryObserver,
  type InfiniteQueryObserverResult,
  QueryClient,
} from '@tanstack/query-core';
import type { ResultOf, TadaDocumentNode, VariablesOf } from 'gql.tada';
import { type FormattedExecutionResult, print } from 'graphql';

import { collect, PAGE } from '../lists.ts';
import { follow, LAST_CURSOR, type LastCursor, openEventStreams, resume } from '../live.ts';
import { describeOrder, type Pet, PETS, PLACE_ORDER, STOCK_CHANGED } from '../operations.ts';
import { forgetKey, keyFor, mayPass } from '../retries.ts';

type Page = ResultOf<typeof PETS>['pets'];
type Wanted = Omit<VariablesOf<typeof PLACE_ORDER>, 'idempotencyKey'>;

const codesOf = ({ errors = [] }: FormattedExecutionResult): unknown[] =>
  errors.map(({ extensions }) => extensions?.['code']);

/** Sends an operation; retries it after a lost response or a passing error, unless that could repeat a write. */
async function send<Data>(url: string, query: string, variables: object): Promise<Data> {
  const isRepeatable = query.startsWith('query') || 'idempotencyKey' in variables;
  for (let left = isRepeatable ? 2 : 0; ; left -= 1) {
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ query, variables }),
      });
      const { data, errors } = await response.json();
      const isLast = left === 0 || !mayPass(errors);
      if (isLast && data) return data;
      if (isLast) throw Object.assign(new Error(errors[0].message), { errors });
    } catch (error) {
      // Without a response, `fetch` throws a TypeError.
      if (!(error instanceof TypeError) || left === 0) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}

/** Follows the stock, and then renders the shop in an element: in this order, no change is missed. */
export async function startShop(element: Element, gateway: string): Promise<void> {
  const url = `${gateway}/graphql`;
  const read = <Data, Variables extends object>(
    document: TadaDocumentNode<Data, Variables>,
    variables: Variables,
  ): Promise<Data> => send(url, print(document), variables);
  // `send` already retries.
  const queries = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const queryKey = ['pets'];
  const list = new InfiniteQueryObserver(queries, {
    queryKey,
    queryFn: async ({ pageParam: after }): Promise<Page> =>
      (await read(PETS, { first: PAGE, after })).pets,
    initialPageParam: null as string | null,
    getNextPageParam: ({ pageInfo }) => (pageInfo.hasNextPage ? pageInfo.endCursor : undefined),
  });

  let message = '';
  const order = async (wanted: Wanted): Promise<void> => {
    const variables = { ...wanted, idempotencyKey: keyFor(wanted) };
    const data = await read(PLACE_ORDER, variables).catch(() => undefined);
    // Without an answer, the next click sends the same key, so that the order is placed once.
    if (data?.placeOrder) forgetKey(wanted);
    message = describeOrder(data?.placeOrder);
    // All pages are reloaded, with the new stock.
    await queries.invalidateQueries({ queryKey });
    show(list.getCurrentResult());
  };

  /** Changes a pet on the page of the list that contains it. */
  const change = ({ id, ...changed }: Pick<Pet, 'id' | 'availableQuantity'>): void => {
    queries.setQueryData<InfiniteData<Page>>(
      queryKey,
      (data) =>
        data && {
          ...data,
          pages: data.pages.map((page) => ({
            ...page,
            edges: page.edges.map(({ node }) => ({
              node: node.id === id ? { ...node, ...changed } : node,
            })),
          })),
        },
    );
  };

  const show = ({ data }: InfiniteQueryObserverResult<InfiniteData<Page>>): void => {
    const [first] = data?.pages ?? [];
    if (!data || !first) return element.replaceChildren('Loading…');
    const pets = data.pages.flatMap(({ edges }) => edges.map(({ node }) => node));
    const more = button('More', () => list.fetchNextPage());
    const status = tag('p', message);
    status.role = 'status';
    element.replaceChildren(
      tag('h1', `${first.totalCount} pets`),
      status,
      tag('ul', ...pets.map((pet) => showItem(pet, order))),
      ...(list.getCurrentResult().hasNextPage ? [more] : []),
    );
  };

  const reload = collect<string>(() => void queries.invalidateQueries({ queryKey }));
  const subscribe = resume(openEventStreams(url, async () => ({})));
  await follow(async (again) => {
    // Reads the cursor first: the data may be newer than the cursor, but not older.
    const { changes } = await send<LastCursor>(url, LAST_CURSOR, {});
    await queries.invalidateQueries({ queryKey });
    const variables = { after: changes.pageInfo.endCursor };
    return subscribe(
      { query: print(STOCK_CHANGED), variables },
      {
        next: (result) => {
          if (codesOf(result).includes('CURSOR_EXPIRED')) return again();
          const { inventoryChanged } = (result.data ?? {}) as ResultOf<typeof STOCK_CHANGED>;
          const { cursor, kind, inventoryItem } = inventoryChanged ?? {};
          if (inventoryItem) change(inventoryItem.pet);
          if (cursor && kind !== 'UPDATED') reload(cursor);
        },
        error: reportError,
        complete: () => {},
      },
    );
  }, reportError);
  list.subscribe(show);
}

function showItem(
  { id, name, availableQuantity }: Pet,
  order: (wanted: Wanted) => Promise<void>,
): HTMLElement {
  const orderOne = () => order({ petId: id, quantity: 1 });
  return tag('li', `${name}: ${availableQuantity} `, button('Order', orderOne));
}

function button(text: string, act: () => Promise<unknown>): HTMLElement {
  const element = tag('button', text);
  element.addEventListener('click', () => void act());
  return element;
}

function tag(name: string, ...children: (Node | string)[]): HTMLElement {
  const element = document.createElement(name);
  element.append(...children);
  return element;
}
