import type { TypedDocumentNode } from '@apollo/client';
import { getIntrospectionQuery, parse } from 'graphql';
import { filter, firstValueFrom } from 'rxjs';

import { createApolloClient } from '../../docs/examples/apollo/client.ts';
import {
  createLiveLink,
  followChanges as followByApollo,
} from '../../docs/examples/apollo/live.ts';
import type { Follower, Subscribe } from '../../docs/examples/live.ts';
import { createUrqlClient } from '../../docs/examples/urql/client.ts';
import {
  createLiveExchange,
  followChanges as followByUrql,
} from '../../docs/examples/urql/live.ts';
import type { Data, Gateway } from '../support/gateway.ts';
import { DASHBOARD, NAME, PET_CHANGED, type PetChange } from './operations.ts';
import { loadRelayProgram } from './relay-program.ts';

type Variables = Record<string, unknown>;

/** How long a client waits before it reconnects, or passes on later changes: short, to keep the tests fast. */
export const PAUSE_MS = 5;

/** A result of the subscription. */
interface Changed {
  readonly petChanged: PetChange;
}

const FOLLOW: TypedDocumentNode<Changed, Variables> = parse(PET_CHANGED);

/** The groups of lists that a client shows. */
interface Groups {
  readonly query: string;
  /** Returns the data shown now. */
  readonly read: () => Promise<Data>;
  readonly reload: () => unknown;
}

/** The common interface of all clients. */
export interface LiveClient {
  follow(ids: string[], follower: Follower<Changed>): Promise<() => void>;
  /** Returns the name of a pet, from the cache if possible; undefined if the pet was deleted. */
  nameOf(id: string): Promise<string | undefined>;
  /** Shows the groups of the lists of a category. */
  showGroups(variables: { categoryId: string }): Promise<Groups>;
}

/** A query shown on a screen, which follows changes to the cache. */
export interface Shown {
  /** The data shown now. */
  readonly data: Data;
  /** Loads the page after a cursor. */
  loadNext(after: string): Promise<unknown>;
  readonly reload: () => unknown;
}

/** The common interface of Apollo Client and urql. */
export interface CachingClient extends LiveClient {
  /** Returns the data of a query, from the cache if possible. */
  readonly query: (text: string, variables: Variables) => Promise<Data>;
  /** Runs a query and shows its data until the client is stopped. */
  readonly show: (text: string, variables: Variables) => Promise<Shown>;
  mutate(text: string, variables: Variables): Promise<{ data: Data; error: Error | undefined }>;
  stop(): void;
}

interface Options {
  readonly fetch?: typeof globalThis.fetch;
  readonly subscribe?: Subscribe;
}

/** Returns a function that creates clients of a gateway. */
type Connect<Client> = (gateway: Gateway) => Promise<(options: Options) => Client>;

const orThrow = ({ data, error }: { data?: Data; error?: Error | undefined }): Data => {
  if (error) throw error;
  return data;
};

/** Returns what follows from the queries of a client. */
const readBy = ({ query, show }: Pick<CachingClient, 'query' | 'show'>) => ({
  query,
  show,
  nameOf: async (id: string) => (await query(NAME, { id })).pet?.name,
  showGroups: async (variables: Variables): Promise<Groups> => {
    const shown = await show(DASHBOARD, variables);
    return { query: DASHBOARD, read: async () => shown.data, reload: shown.reload };
  },
});

/** Reads which types each interface and union has. An app's build would write them to a file. */
export async function readPossibleTypes(gateway: Gateway): Promise<Record<string, string[]>> {
  const { __schema } = await gateway.data(getIntrospectionQuery());
  return Object.fromEntries(
    __schema.types.flatMap(({ name, possibleTypes }: Data) =>
      possibleTypes ? [[name, possibleTypes.map((type: Data) => type.name)]] : [],
    ),
  );
}

export const connectApollo: Connect<CachingClient> = async (gateway) => {
  const possibleTypes = await readPossibleTypes(gateway);
  return ({ fetch = globalThis.fetch, subscribe }) => {
    const live = subscribe && { live: createLiveLink(subscribe) };
    const client = createApolloClient(`${gateway.url}/graphql`, possibleTypes, { fetch, ...live });
    const show: CachingClient['show'] = async (text, variables) => {
      const query = parse(text);
      const watched = client.watchQuery<Data>({ query, variables });
      watched.subscribe(() => {});
      const loaded = () => firstValueFrom(watched.pipe(filter(({ loading }) => !loading)));
      await loaded();
      return {
        get data() {
          return watched.getCurrentResult().data;
        },
        loadNext: async (after) => {
          await watched.fetchMore({ variables: { after } });
          await loaded();
        },
        reload: () => client.refetchQueries({ include: [query] }),
      };
    };
    return {
      ...readBy({
        query: async (text, variables) =>
          orThrow(await client.query({ query: parse(text), variables })),
        show,
      }),
      mutate: async (text, variables) => {
        const { data, error } = await client.mutate({ mutation: parse(text), variables });
        return { data, error };
      },
      follow: (ids, follower) => followByApollo(client, FOLLOW, { ids }, follower),
      stop: () => client.stop(),
    };
  };
};

export const connectUrql: Connect<CachingClient> = async (gateway) => {
  const schema = await gateway.data(getIntrospectionQuery());
  return ({ fetch = globalThis.fetch, subscribe }) => {
    const live = subscribe ? [createLiveExchange(subscribe, PAUSE_MS)] : [];
    const client = createUrqlClient(`${gateway.url}/graphql`, schema, { fetch, live });
    const subscriptions: { unsubscribe(): void }[] = [];
    const query: CachingClient['query'] = async (text, variables) =>
      orThrow(await client.query(text, variables));
    const show: CachingClient['show'] = async (text, variables) => {
      let data: Data;
      const shown = client.query(text, variables).subscribe((result) => {
        ({ data } = result);
      });
      subscriptions.push(shown);
      await query(text, variables);
      return {
        get data() {
          return data;
        },
        loadNext: (after) => query(text, { ...variables, after }),
        reload: () => client.query(text, variables, { requestPolicy: 'network-only' }).toPromise(),
      };
    };
    return {
      ...readBy({ query, show }),
      mutate: async (text, variables) => {
        const { data, error } = await client.mutation(text, variables);
        return { data, error };
      },
      follow: (ids, follower) => followByUrql<Changed>(client, PET_CHANGED, { ids }, follower),
      stop: () => {
        for (const subscription of subscriptions) subscription.unsubscribe();
      },
    };
  };
};

const connectRelay: Connect<LiveClient> = async ({ url }) => {
  const { createEnvironment, live, operations, read, reload } = await loadRelayProgram();
  const { categoryQuery, groupsQuery, petChangedSubscription } = operations;
  return ({ fetch, subscribe }) => {
    const send = subscribe && live.createLiveFunction(subscribe);
    const environment = createEnvironment(`${url}/graphql`, fetch, send);
    return {
      follow: (ids, follower) =>
        live.followChanges<{ variables: Variables; response: Changed }>(
          environment,
          petChangedSubscription,
          { ids },
          follower,
        ),
      nameOf: async (id) => (await read(environment, categoryQuery, { id })).pet?.name,
      showGroups: async (variables) => ({
        query: (groupsQuery as Data).params.text,
        read: () => read(environment, groupsQuery, variables),
        reload: () => reload(environment, groupsQuery, variables),
      }),
    };
  };
};

/** The clients with a normalized cache that follows writes. */
export const CACHING: readonly [name: string, connect: Connect<CachingClient>][] = [
  ['Apollo Client', connectApollo],
  ['urql with Graphcache', connectUrql],
];

/** The clients with which subscriptions are tested. */
export const LIVE: readonly [name: string, connect: Connect<LiveClient>][] = [
  ...CACHING,
  ['Relay', connectRelay],
];
