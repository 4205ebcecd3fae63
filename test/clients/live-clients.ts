import type { TypedDocumentNode } from '@apollo/client';
import { getIntrospectionQuery, type IntrospectionQuery, parse } from 'graphql';

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
import type { Gateway } from '../support/gateway.ts';
import { PET_CHANGED, type PetChange } from './live-operations.ts';
import { readPossibleTypes } from './possible-types.ts';
import { loadRelayProgram } from './relay-program.ts';

/** How long a client waits before it reconnects, or passes on later changes: short, to keep the tests fast. */
export const PAUSE_MS = 5;

/** How a client connects to gateways in one test. */
export interface Connection {
  /** The URL of the GraphQL endpoint. */
  readonly url: string;
  readonly fetch: typeof fetch;
  readonly subscribe: Subscribe;
}

const PET = 'query ($id: ID!) { pet(id: $id) { id nodeId name } }';

type Variables = Record<string, unknown>;
const READ_PET: TypedDocumentNode<{ pet: { name: string } | null }, Variables> = parse(PET);
const FOLLOW: TypedDocumentNode<Changed, Variables> = parse(PET_CHANGED);

/** A result of the subscription. */
export interface Changed {
  readonly petChanged: PetChange;
}

/** The common interface of all clients. */
export interface LiveClient {
  follow(ids: string[], follower: Follower<Changed>): Promise<() => void>;
  /** Returns the name of a pet, from the cache if possible; undefined if the pet was deleted. */
  nameOf(id: string): Promise<string | undefined>;
}

/** Returns a function that creates clients. */
type Prepare = (gateway: Gateway, schema: string) => Promise<(by: Connection) => LiveClient>;

const prepareApollo: Prepare = async (gateway) => {
  const possibleTypes = await readPossibleTypes(gateway.url);
  return ({ url, fetch, subscribe }) => {
    const live = createLiveLink(subscribe);
    const client = createApolloClient(url, possibleTypes, { fetch, live });
    return {
      follow: (ids, follower) => followByApollo(client, FOLLOW, { ids }, follower),
      nameOf: async (id) => {
        const { data } = await client.query({ query: READ_PET, variables: { id } });
        return data?.pet?.name;
      },
    };
  };
};

const prepareUrql: Prepare = async (gateway) => {
  const schema: IntrospectionQuery = await gateway.data(getIntrospectionQuery());
  return ({ url, fetch, subscribe }) => {
    const live = [createLiveExchange(subscribe, PAUSE_MS)];
    const client = createUrqlClient(url, schema, { fetch, live });
    return {
      follow: (ids, follower) => followByUrql<Changed>(client, PET_CHANGED, { ids }, follower),
      nameOf: async (id) => (await client.query(PET, { id }).toPromise()).data?.pet?.name,
    };
  };
};

const prepareRelay: Prepare = async (_gateway, schema) => {
  const { createEnvironment, live, operations, read } = await loadRelayProgram(schema);
  return ({ url, fetch, subscribe }) => {
    const environment = createEnvironment(url, fetch, live.createLiveFunction(subscribe));
    const { petChangedSubscription, petQuery } = operations;
    return {
      follow: (ids, follower) =>
        live.followChanges<{ variables: Variables; response: Changed }>(
          environment,
          petChangedSubscription,
          { ids },
          follower,
        ),
      nameOf: async (id) => (await read(environment, petQuery, { id })).pet?.name,
    };
  };
};

/** The clients with which subscriptions are tested. */
export const CLIENTS: Readonly<Record<string, Prepare>> = {
  'Apollo Client': prepareApollo,
  urql: prepareUrql,
  Relay: prepareRelay,
};
