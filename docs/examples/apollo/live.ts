import {
  type ApolloClient,
  ApolloLink,
  CombinedGraphQLErrors,
  gql,
  type TypedDocumentNode,
} from '@apollo/client';
import { print } from 'graphql';
import { Observable } from 'rxjs';

import { follow, type Follower, LAST_CURSOR, type LastCursor, type Subscribe } from '../live.ts';

/** Creates the link that sends subscriptions through `subscribe`. */
export const createLiveLink = (subscribe: Subscribe): ApolloLink =>
  new ApolloLink(
    ({ query, variables, operationName }) =>
      new Observable((sink) => subscribe({ query: print(query), variables, operationName }, sink)),
  );

const READ_CURSOR: TypedDocumentNode<LastCursor> = gql(LAST_CURSOR);

const isExpired = (error: unknown): boolean =>
  CombinedGraphQLErrors.is(error) &&
  error.errors.some(({ extensions }) => extensions?.['code'] === 'CURSOR_EXPIRED');

/**
 * Loads data and follows its changes through a subscription with the variable `$after`; returns a function that
 * stops following.
 */
export const followChanges = <Data>(
  client: ApolloClient,
  query: TypedDocumentNode<Data, Record<string, unknown>>,
  variables: Record<string, unknown>,
  { readRows, onChange, onError }: Follower<Data>,
): Promise<() => void> =>
  follow(async (again) => {
    // Reads the cursor first: the data may be newer than the cursor, but not older.
    const last = await client.query({ query: READ_CURSOR, fetchPolicy: 'network-only' });
    const after = last.data?.changes.pageInfo.endCursor ?? null;
    await readRows();
    const changes = client.subscribe({ query, variables: { ...variables, after } });
    const subscription = changes.subscribe({
      next: ({ data, error }) => {
        if (isExpired(error)) again();
        else if (data) onChange(data);
        else onError(error);
      },
      error: onError,
    });
    return () => subscription.unsubscribe();
  }, onError);
