import {
  type Client,
  type CombinedError,
  type Exchange,
  subscriptionExchange,
  type TypedDocumentNode,
} from 'urql';

import { collect } from '../lists.ts';
import { follow, type Follower, LAST_CURSOR, type LastCursor, type Subscribe } from '../live.ts';

/**
 * Creates the exchange that sends subscriptions through `subscribe`. Graphcache drops stale lists when it receives a
 * change, so changes in quick succession are passed on together: those within `pauseMs`, a second if it is not given.
 */
export const createLiveExchange = (subscribe: Subscribe, pauseMs?: number): Exchange =>
  subscriptionExchange({
    forwardSubscription: ({ query = '', variables = {} }) => ({
      subscribe: (sink) => {
        const pass = collect<() => void>((calls) => {
          for (const call of calls) call();
        }, pauseMs);
        const unsubscribe = subscribe(
          { query, variables },
          {
            next: (result) => pass(() => sink.next(result)),
            error: (error) => pass(() => sink.error(error)),
            complete: () => pass(() => sink.complete()),
          },
        );
        return { unsubscribe };
      },
    }),
  });

const isExpired = (error: CombinedError | undefined): boolean =>
  error?.graphQLErrors.some(({ extensions }) => extensions['code'] === 'CURSOR_EXPIRED') ?? false;

/**
 * Loads data and follows its changes through a subscription with the variable `$after`; returns a function that
 * stops following.
 */
export const followChanges = <Data>(
  client: Client,
  query: TypedDocumentNode<Data, Record<string, unknown>> | string,
  variables: Record<string, unknown>,
  { readRows, onChange, onError }: Follower<Data>,
): Promise<() => void> =>
  follow(async (again) => {
    // Reads the cursor first: the data may be newer than the cursor, but not older.
    const last = await client
      .query<LastCursor>(LAST_CURSOR, {}, { requestPolicy: 'network-only' })
      .toPromise();
    if (last.error) throw last.error;
    const after = last.data?.changes.pageInfo.endCursor ?? null;
    await readRows();
    const subscription = client
      .subscription<Data>(query, { ...variables, after })
      .subscribe(({ data, error, hasNext }) => {
        // At the end, urql repeats the last result. A result with an error has the data of the previous change.
        if (hasNext && !error && data) onChange(data);
        else if (!hasNext && isExpired(error)) again();
        else if (!hasNext) onError(error);
      });
    return () => subscription.unsubscribe();
  }, onError);
