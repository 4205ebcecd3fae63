import { act, createElement, type FunctionComponent } from 'react';
import { RelayEnvironmentProvider } from 'react-relay';
import { create, type ReactTestRenderer } from 'react-test-renderer';
import {
  commitMutation,
  createOperationDescriptor,
  type Environment,
  fetchQuery,
  getRequest,
  type GraphQLTaggedNode,
  type SelectorStoreUpdater,
} from 'relay-runtime';

import type { Pets } from './pet-list.ts';

export { act };
export { createEnvironment } from './environment.ts';
export { CategoryPets, StorePets } from './pet-list.ts';
export * as operations from './pets.ts';

// react-test-renderer warns that it is deprecated in favour of a browser, unless this says it is not.
Object.assign(globalThis, {
  IS_REACT_ACT_ENVIRONMENT: true,
  IS_REACT_NATIVE_TEST_ENVIRONMENT: true,
});

// The shape of the data is in the operation.
// oxlint-disable-next-line typescript/no-explicit-any
type Data = any;
type Variables = Record<string, unknown>;

/** Reads from the gateway. */
export const read = (
  environment: Environment,
  query: GraphQLTaggedNode,
  variables: Variables,
): Promise<Data> => fetchQuery(environment, query, variables).toPromise();

/** Returns what the store has for a query. */
export function readStore(
  environment: Environment,
  query: GraphQLTaggedNode,
  variables: Variables,
): Data {
  const operation = createOperationDescriptor(getRequest(query), variables);
  return environment.lookup(operation.fragment).data;
}

/** Commits a mutation and returns its data. */
export const mutate = (
  environment: Environment,
  mutation: GraphQLTaggedNode,
  { updater, ...variables }: Variables & { updater?: SelectorStoreUpdater },
): Promise<Data> =>
  act(
    () =>
      new Promise((resolve, reject) => {
        commitMutation(environment, {
          mutation,
          variables,
          updater,
          onCompleted: resolve,
          onError: reject,
        });
      }),
  );

/** A list on a screen. */
interface ShownList {
  readonly data: Pets;
  readonly hasNext: boolean;
  loadNext(count: number, options: { onComplete: (error: Error | null) => void }): void;
}

/**
 * Shows a component, whose query is read first; returns a function that tells what its list has at
 * that time.
 */
export async function show<Props extends Variables>(
  environment: Environment,
  query: GraphQLTaggedNode,
  [component, props]: [FunctionComponent<Props>, Props],
): Promise<() => ShownList> {
  await read(environment, query, props);
  const children = createElement(component, props);
  const screen = createElement(RelayEnvironmentProvider, { environment, children });
  // React recommends tests in a browser instead, which are slower, and not installed everywhere.
  // oxlint-disable typescript/no-deprecated
  let renderer: ReactTestRenderer | undefined;
  await act(async () => {
    renderer = create(screen);
  });
  // oxlint-enable typescript/no-deprecated
  return () =>
    renderer?.root.find(({ type }) => typeof type === 'string').props as unknown as ShownList;
}

/** Loads the next page of a list. */
export const loadNext = (list: () => ShownList): Promise<void> =>
  act(
    () =>
      new Promise<void>((resolve, reject) => {
        list().loadNext(2, { onComplete: (error) => (error ? reject(error) : resolve()) });
      }),
  );
