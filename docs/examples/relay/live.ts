import {
  commitLocalUpdate,
  type Environment,
  fetchQuery,
  graphql,
  type GraphQLResponse,
  type GraphQLTaggedNode,
  Observable,
  type OperationType,
  requestSubscription,
  type SubscribeFunction,
} from 'relay-runtime';

import { collect } from '../lists.ts';
import { follow, type Follower, type Subscribe } from '../live.ts';
import type { liveCursorQuery } from './__generated__/liveCursorQuery.graphql.ts';
import { changesLists } from './environment.ts';

/** Creates the function for `Network.create` that sends subscriptions through `subscribe`. */
export const createLiveFunction =
  (subscribe: Subscribe): SubscribeFunction =>
  ({ text, name }, variables) =>
    Observable.create((sink) => {
      const request = { query: text ?? '', operationName: name, variables };
      return subscribe(request, {
        next: (result) => sink.next(result as GraphQLResponse),
        error: (error) => sink.error(error as Error),
        complete: () => sink.complete(),
      });
    });

const CURSOR = graphql`
  query liveCursorQuery {
    changes(last: 1) {
      pageInfo {
        endCursor
      }
    }
  }
`;

type GraphqlError = Error & {
  readonly source?: { readonly errors: readonly { extensions?: { code?: string } }[] };
};

const isExpired = ({ source }: GraphqlError): boolean =>
  source?.errors.some(({ extensions }) => extensions?.code === 'CURSOR_EXPIRED') ?? false;

/**
 * Loads data and follows its changes through a subscription with the variable `$after`; returns a function that
 * stops following.
 */
export const followChanges = <Changed extends OperationType>(
  environment: Environment,
  subscription: GraphQLTaggedNode,
  variables: Record<string, unknown>,
  { readRows, onChange, onError }: Follower<Changed['response']>,
): Promise<() => void> =>
  follow(async (again) => {
    // Reads the cursor first: the data may be newer than the cursor, but not older.
    const last = await fetchQuery<liveCursorQuery>(environment, CURSOR, {}).toPromise();
    const after = last?.changes.pageInfo.endCursor ?? null;
    await readRows();
    const forget = collect(() =>
      commitLocalUpdate(environment, (store) => store.invalidateStore()),
    );
    const request = requestSubscription<Changed>(environment, {
      subscription,
      variables: { ...variables, after },
      onNext: (data) => {
        if (!data) return;
        if (changesLists(data)) forget(data);
        onChange(data);
      },
      onError: (error) => (isExpired(error) ? again() : onError(error)),
    });
    return () => request.dispose();
  }, onError);
