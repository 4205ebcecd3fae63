import {
  type ApolloClient,
  ApolloLink,
  CombinedGraphQLErrors,
  gql,
  type TypedDocumentNode,
} from '@apollo/client';
import { OperationTypeNode, print } from 'graphql';
import { Observable } from 'rxjs';

import { CURSOR, PET_CHANGED, type PetChange } from './live-operations.ts';
import { follow, type Follower, type Subscribe } from './live.ts';

const isSubscription = ({ operationType }: ApolloLink.Operation): boolean =>
  operationType === OperationTypeNode.SUBSCRIPTION;

/** Lets a client send its subscriptions by `subscribe`. */
export function addLiveLink(client: ApolloClient, subscribe: Subscribe): void {
  const live = new ApolloLink(
    ({ query, variables, operationName }) =>
      new Observable((sink) => subscribe({ query: print(query), variables, operationName }, sink)),
  );
  client.setLink(ApolloLink.split(isSubscription, live, client.link));
}

const READ_CURSOR: TypedDocumentNode<{ changes: { pageInfo: { endCursor: string | null } } }> =
  gql(CURSOR);
const SUBSCRIBE: TypedDocumentNode<
  { petChanged: PetChange },
  { ids: string[]; after: string | null }
> = gql(PET_CHANGED);

/** Removes a deleted pet from the cache, also from every list. */
function forgetPet({ cache }: ApolloClient, { petId }: PetChange): void {
  cache.evict({ id: cache.identify({ __typename: 'Pet', id: petId }) ?? '' });
  cache.gc();
}

const isExpired = (error: unknown): boolean =>
  CombinedGraphQLErrors.is(error) &&
  error.errors.some(({ extensions }) => extensions?.['code'] === 'CURSOR_EXPIRED');

/** Reads pets and follows their changes; returns a function that ends that. */
export const followPets = (
  client: ApolloClient,
  ids: string[],
  { readRows, onChange, onError }: Follower<PetChange>,
): Promise<() => void> =>
  follow(async (again) => {
    // The cursor first: rows may be newer than it, not older.
    const { data } = await client.query({ query: READ_CURSOR, fetchPolicy: 'network-only' });
    const after = data?.changes.pageInfo.endCursor ?? null;
    await readRows();
    const changes = client.subscribe({ query: SUBSCRIBE, variables: { ids, after } });
    const subscription = changes.subscribe({
      next: ({ data: change, error }) => {
        if (isExpired(error)) return again();
        if (!change) return onError(error);
        if (change.petChanged.kind === 'DELETED') forgetPet(client, change.petChanged);
        return onChange(change.petChanged);
      },
      error: onError,
    });
    return () => subscription.unsubscribe();
  }, onError);
