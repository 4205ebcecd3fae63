import { type Client, type CombinedError, type Exchange, subscriptionExchange } from '@urql/core';
import type { UpdatesConfig } from '@urql/exchange-graphcache';

import { CURSOR, PET_CHANGED, type PetChange } from './live-operations.ts';
import { follow, type Follower, type Subscribe } from './live.ts';

/** Creates the exchange that sends subscriptions by `subscribe`, to be put before `fetchExchange`. */
export const createLiveExchange = (subscribe: Subscribe): Exchange =>
  subscriptionExchange({
    forwardSubscription: ({ query = '', variables = {} }) => ({
      subscribe: (sink) => ({ unsubscribe: subscribe({ query, variables }, sink) }),
    }),
  });

/** Removes deleted pets from the cache. */
export const liveUpdates: UpdatesConfig = {
  Subscription: {
    petChanged: ({ petChanged }: { petChanged: PetChange }, _variables, cache) => {
      const { kind, petId } = petChanged;
      if (kind === 'DELETED') cache.invalidate({ __typename: 'Pet', id: petId });
    },
  },
};

const isExpired = (error: CombinedError | undefined): boolean =>
  error?.graphQLErrors.some(({ extensions }) => extensions['code'] === 'CURSOR_EXPIRED') ?? false;

/** Reads pets and follows their changes; returns a function that ends that. */
export const followPets = (
  client: Client,
  ids: string[],
  { readRows, onChange, onError }: Follower<PetChange>,
): Promise<() => void> =>
  follow(async (again) => {
    // The cursor first: rows may be newer than it, not older.
    const last = await client.query(CURSOR, {}, { requestPolicy: 'network-only' }).toPromise();
    if (last.error) throw last.error;
    const after = last.data.changes.pageInfo.endCursor;
    await readRows();
    const subscription = client
      .subscription<{ petChanged: PetChange }>(PET_CHANGED, { ids, after })
      .subscribe(({ data, error, hasNext }) => {
        // At the end, urql repeats the last result. With an error, the data is that of the change before it.
        if (hasNext && !error && data) onChange(data.petChanged);
        else if (!hasNext && isExpired(error)) again();
        else if (!hasNext) onError(error);
      });
    return () => subscription.unsubscribe();
  }, onError);
