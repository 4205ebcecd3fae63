import { act, createElement, type ReactElement, Suspense } from 'react';
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

import type { ShownList, ShownPet } from './components.ts';

export { act };
export { createEnvironment } from './environment.ts';
export { CategoryPets, OnePet, StorePets } from './components.ts';
export * as live from './live.ts';
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

/**
 * Shows a component, whose query is read first; returns a function that tells what it shows at that
 * time.
 */
export async function show<Props extends Variables, Shown>(
  environment: Environment,
  query: GraphQLTaggedNode,
  [component, props]: [(props: Props) => ReactElement<Shown>, Props],
): Promise<() => Shown> {
  await read(environment, query, props);
  const children = createElement(Suspense, null, createElement(component, props));
  const screen = createElement(RelayEnvironmentProvider, { environment, children });
  // React recommends tests in a browser instead, which are slower, and not installed everywhere.
  // oxlint-disable typescript/no-deprecated
  let renderer: ReactTestRenderer | undefined;
  await act(async () => {
    renderer = create(screen);
  });
  // oxlint-enable typescript/no-deprecated
  return () =>
    renderer?.root.find(({ type }) => typeof type === 'string').props as unknown as Shown;
}

/** Loads the next page of a list. */
export const loadNext = (list: () => ShownList): Promise<void> =>
  act(
    () =>
      new Promise<void>((resolve, reject) => {
        list().loadNext(2, { onComplete: (error) => (error ? reject(error) : resolve()) });
      }),
  );

/** Reads a pet again by its `nodeId`. */
export async function refetch(pet: () => ShownPet): Promise<void> {
  let completed: Promise<void> | undefined;
  // Relay calls `onComplete` only after React has rendered again, and `act` renders only when its
  // function has finished: a function that waited for the first would never finish.
  await act(async () => {
    completed = new Promise((resolve, reject) => {
      const onComplete = (error: Error | null): void => (error ? reject(error) : resolve());
      pet().refetch({}, { fetchPolicy: 'network-only', onComplete });
    });
  });
  await act(() => completed);
}
