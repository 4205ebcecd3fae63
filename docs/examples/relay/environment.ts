import {
  Environment,
  type FetchFunction,
  Network,
  RecordSource,
  type RecordSourceSelectorProxy,
  Store,
  type SubscribeFunction,
} from 'relay-runtime';

import { GONE, listsToForget, type Result } from '../lists.ts';
import { mayPass } from '../retries.ts';

/** Creates an environment whose store identifies objects by `nodeId`. */
export function createEnvironment(
  url: string,
  fetch = globalThis.fetch,
  subscribe?: SubscribeFunction,
): Environment {
  const send: FetchFunction = async ({ text, operationKind }, variables) => {
    // A retried write without a key could be made twice.
    const isRepeatable = operationKind === 'query' || variables['idempotencyKey'] != null;
    for (let left = isRepeatable ? 2 : 0; ; left -= 1) {
      try {
        const response = await fetch(url, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify({ query: text, variables }),
        });
        const result = await response.json();
        if (left === 0 || !mayPass(result.errors)) return result;
      } catch (error) {
        if (left === 0) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
  };
  return new Environment({
    network: Network.create(send, subscribe),
    store: new Store(new RecordSource()),
    // The result of a deletion has the deleted object's `nodeId`, but is not that object.
    getDataID: (fields, type) => (type in GONE ? undefined : fields['nodeId']),
  });
}

/**
 * The updater of each mutation. Marks the whole store as stale after a write that may change lists.
 * A page reloads its data in the callback of `useSubscribeToInvalidationState`; other data is reloaded when it is next
 * shown.
 */
export function forgetAfterWrites(store: RecordSourceSelectorProxy, data: unknown): void {
  if (changesLists(data)) store.invalidateStore();
}

/** Whether the data of a mutation or subscription may change lists. */
export const changesLists = (data: unknown): boolean =>
  Object.values(data ?? {}).some(
    (result: Result | null) => result !== null && listsToForget(result).length > 0,
  );
