import { gql, type TypedDocumentNode } from '@apollo/client';
import { getIntrospectionQuery, type IntrospectionQuery } from 'graphql';

import type { Gateway } from '../support/gateway.ts';
import { createApolloClient } from './apollo.ts';
import { addLiveLink, followPets as followByApollo } from './live-apollo.ts';
import type { PetChange } from './live-operations.ts';
import { createLiveExchange, followPets as followByUrql } from './live-urql.ts';
import type { Follower, Subscribe } from './live.ts';
import { readPossibleTypes } from './possible-types.ts';
import { loadRelayProgram } from './relay-program.ts';
import { createUrqlClient } from './urql.ts';

/** What a client uses for one test. */
export interface Connection {
  /** The URL of GraphQL. */
  readonly url: string;
  readonly fetch: typeof fetch;
  readonly subscribe: Subscribe;
}

const PET = 'query ($id: ID!) { pet(id: $id) { id nodeId name } }';

const READ_PET: TypedDocumentNode<{ pet: { name: string } | null }, { id: string }> = gql(PET);

/** What all clients have in common. */
export interface LiveClient {
  follow(ids: string[], follower: Follower<PetChange>): Promise<() => void>;
  /** Returns the name of a pet, from the cache if it is there; undefined if the pet is gone. */
  nameOf(id: string): Promise<string | undefined>;
}

/** Returns a function that creates clients. */
type Prepare = (gateway: Gateway, schema: string) => Promise<(by: Connection) => LiveClient>;

const prepareApollo: Prepare = async (gateway) => {
  const possibleTypes = await readPossibleTypes(gateway.url);
  return ({ url, fetch, subscribe }) => {
    const client = createApolloClient(url, possibleTypes, fetch);
    addLiveLink(client, subscribe);
    return {
      follow: (ids, follower) => followByApollo(client, ids, follower),
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
    const live = [createLiveExchange(subscribe)];
    const client = createUrqlClient(url, schema, { fetch, live });
    return {
      follow: (ids, follower) => followByUrql(client, ids, follower),
      nameOf: async (id) => (await client.query(PET, { id }).toPromise()).data?.pet?.name,
    };
  };
};

const prepareRelay: Prepare = async (_gateway, schema) => {
  const { createEnvironment, live, operations, read, readStore } = await loadRelayProgram(schema);
  return ({ url, fetch, subscribe }) => {
    const environment = createEnvironment(url, fetch, live.createLiveFunction(subscribe));
    return {
      follow: (ids, follower) => live.followPets(environment, ids, follower),
      nameOf: async (id) => {
        const stored = readStore(environment, operations.petQuery, { id });
        if (stored.pet === undefined) await read(environment, operations.petQuery, { id });
        return readStore(environment, operations.petQuery, { id }).pet?.name;
      },
    };
  };
};

/** The clients with which subscriptions are tested. */
export const CLIENTS: Readonly<Record<string, Prepare>> = {
  'Apollo Client': prepareApollo,
  urql: prepareUrql,
  Relay: prepareRelay,
};
