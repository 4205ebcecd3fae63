import { readFile } from 'node:fs/promises';

import { getIntrospectionQuery, parse } from 'graphql';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';

import { createApolloClient } from '../../docs/examples/apollo/client.ts';
import {
  createLiveLink,
  followChanges as followByApollo,
} from '../../docs/examples/apollo/live.ts';
import { collect } from '../../docs/examples/lists.ts';
import { type Follower, openWebSockets, resume } from '../../docs/examples/live.ts';
import { createUrqlClient } from '../../docs/examples/urql/client.ts';
import {
  createLiveExchange,
  followChanges as followByUrql,
} from '../../docs/examples/urql/live.ts';
import { type Data, gateway, useGateway } from '../support/gateway.ts';
import { makeCategory, makeOrder, makePet } from '../support/make.ts';
import { DASHBOARD } from './operations.ts';
import { readPossibleTypes } from './possible-types.ts';
import { loadRelayProgram } from './relay-program.ts';

const ORDER_CHANGED = `subscription OrderChanged($after: String) {
  orderChanged(after: $after) { __typename cursor kind orderId order { id complete } }
}`;

/** A client that shows the groups of a query. */
interface Groups {
  readonly query: string;
  /** Returns the data that it shows now. */
  readonly read: () => Promise<Data>;
  /** Reloads the groups after each live change, as clients.md says. */
  readonly follow: () => Promise<() => void>;
}

/** Calls `reload` after each change, and at most once a second. */
const reloadBy = (reload: () => unknown): Follower<unknown> => ({
  readRows: async () => {},
  onChange: collect(reload),
  onError: (error) => {
    throw error;
  },
});

const toUrl = (): string => `${gateway.url}/graphql`;
const subscribe = () =>
  resume(
    openWebSockets(toUrl().replace('http', 'ws'), async () => ({}), { webSocketImpl: WebSocket }),
  );

const loadRelay = async () => {
  const program = await loadRelayProgram(await readFile('schema.graphql', 'utf8'));
  const live = program.live.createLiveFunction(subscribe());
  return { ...program, environment: program.createEnvironment(toUrl(), fetch, live) };
};

const CLIENTS: Readonly<Record<string, (variables: { categoryId: string }) => Promise<Groups>>> = {
  'Apollo Client': async (variables) => {
    const possibleTypes = await readPossibleTypes(gateway.url);
    const live = createLiveLink(subscribe());
    const client = createApolloClient(toUrl(), possibleTypes, { live });
    const query = parse(DASHBOARD);
    const shown = client.watchQuery<Data>({ query, variables });
    const subscription = shown.subscribe(() => {});
    onTestFinished(() => subscription.unsubscribe());
    const follower = reloadBy(() => client.refetchQueries({ include: [query] }));
    return {
      query: DASHBOARD,
      read: async () => shown.getCurrentResult().data,
      follow: () => followByApollo(client, parse(ORDER_CHANGED), {}, follower),
    };
  },
  'urql with Graphcache': async (variables) => {
    const schema = await gateway.data(getIntrospectionQuery());
    const live = [createLiveExchange(subscribe())];
    const client = createUrqlClient(toUrl(), schema, { live });
    let data: Data;
    const subscription = client.query(DASHBOARD, variables).subscribe((result) => {
      ({ data } = result);
    });
    onTestFinished(() => subscription.unsubscribe());
    const follower = reloadBy(() =>
      client.query(DASHBOARD, variables, { requestPolicy: 'network-only' }).toPromise(),
    );
    return {
      query: DASHBOARD,
      read: async () => data,
      follow: () => followByUrql(client, ORDER_CHANGED, {}, follower),
    };
  },
  Relay: async (variables) => {
    const { environment, live, operations, read, reload } = await loadRelay();
    const { groupsQuery, orderChangedSubscription } = operations;
    const follower = reloadBy(() => reload(environment, groupsQuery, variables));
    return {
      query: (groupsQuery as Data).params.text,
      read: () => read(environment, groupsQuery, variables),
      follow: () => live.followChanges(environment, orderChangedSubscription, {}, follower),
    };
  },
};

useGateway();

/** Returns data without what clients add to it. */
const bare = (data: Data): Data =>
  JSON.parse(
    JSON.stringify(data ?? null, (name, value) =>
      ['__typename', 'nodeId'].includes(name) ? undefined : value,
    ),
  );

/** Waits until a client shows the groups that the gateway returns now. */
async function expectCurrent({ query, read }: Groups, variables: object): Promise<void> {
  const current = await gateway.data(query, { ...variables });
  await expect.poll(async () => bare(await read())).toEqual(bare(current));
}

describe.each(Object.entries(CLIENTS))('%s', (_name, create) => {
  it('shows current groups after a live change if the app reloads them', async () => {
    const categoryId = await makeCategory(gateway);
    const petId = await makePet(gateway, { categoryId, stock: 50 });
    const orderId = await makeOrder(gateway, petId, { shipDate: '2100-01-01T00:00:00Z' });
    const groups = await create({ categoryId });
    await expectCurrent(groups, { categoryId });
    onTestFinished(await groups.follow());
    await gateway.data(`mutation { completeOrder(id: "${orderId}") { __typename } }`);
    await expectCurrent(groups, { categoryId });
  });
});

it('Relay reloads groups after an order', async () => {
  const categoryId = await makeCategory(gateway);
  const petId = await makePet(gateway, { categoryId, stock: 50 });
  const { environment, mutate, operations, read } = await loadRelay();
  const { groupsQuery, orderMutation } = operations;
  const readMonths = async (): Promise<Data> =>
    (await read(environment, groupsQuery, { categoryId })).open.groups.nodes;
  const counts = async (): Promise<number> =>
    (await readMonths()).reduce((sum: number, { count }: Data) => sum + count, 0);
  const before = await counts();
  await mutate(environment, orderMutation, { input: { petId, quantity: 2 } });
  expect(await counts()).toBe(before + 1);
});
