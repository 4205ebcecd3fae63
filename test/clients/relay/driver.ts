import {
  commitMutation,
  createOperationDescriptor,
  type Environment,
  fetchQuery,
  getFragment,
  getRequest,
  getSelector,
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

/** Returns the store's data for a query. */
export function readStore(
  environment: Environment,
  query: GraphQLTaggedNode,
  variables: Variables,
): Data {
  const operation = createOperationDescriptor(getRequest(query), variables);
  return environment.lookup(operation.fragment).data;
}

/** Returns the store's data for a fragment of a row. */
export function readFragment(
  environment: Environment,
  fragment: GraphQLTaggedNode,
  row: unknown,
): Data {
  const selector = getSelector(getFragment(fragment), row);
  if (selector?.kind !== 'SingularReaderSelector')
    throw new TypeError('The fragment is not of a single row.');
  return environment.lookup(selector).data;
}

/** Sends the query that the compiler made from a `@refetchable` fragment, as Relay's hooks for React do. */
export async function refetch(
  environment: Environment,
  fragment: GraphQLTaggedNode,
  variables: Variables,
): Promise<void> {
  const { metadata } = getFragment(fragment);
  const query = metadata?.refetch?.operation;
  if (!query || typeof query === 'string') throw new TypeError('The fragment has no query.');
  await read(environment, query, variables);
}

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
