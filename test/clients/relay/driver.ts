import {
  commitMutation,
  type Environment,
  fetchQuery,
  type GraphQLTaggedNode,
} from 'relay-runtime';

import { forgetAfterWrites } from '../../../docs/examples/relay/environment.ts';

export { createEnvironment } from '../../../docs/examples/relay/environment.ts';
export * as live from '../../../docs/examples/relay/live.ts';
export * as operations from './pets.ts';

// The operation determines the shape of the data.
// oxlint-disable-next-line typescript/no-explicit-any
type Data = any;
type Variables = Record<string, unknown>;

/** Reads from the store, or from the gateway if the data is missing or stale. */
export const read = (
  environment: Environment,
  query: GraphQLTaggedNode,
  variables: Variables,
): Promise<Data> =>
  fetchQuery(environment, query, variables, { fetchPolicy: 'store-or-network' }).toPromise();

/** Reads from the gateway, and updates the store. */
export const reload = (
  environment: Environment,
  query: GraphQLTaggedNode,
  variables: Variables,
): Promise<Data> => fetchQuery(environment, query, variables).toPromise();

/** Commits a mutation and returns its data. */
export const mutate = (
  environment: Environment,
  mutation: GraphQLTaggedNode,
  variables: Variables,
): Promise<Data> =>
  new Promise((resolve, reject) => {
    commitMutation(environment, {
      mutation,
      variables,
      updater: forgetAfterWrites,
      onCompleted: resolve,
      onError: reject,
    });
  });
