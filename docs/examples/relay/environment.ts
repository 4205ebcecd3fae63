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

/** Creates an environment whose store knows rows by their `nodeId`. */
export function createEnvironment(
  url: string,
  fetch = globalThis.fetch,
  subscribe?: SubscribeFunction,
): Environment {
  const send: FetchFunction = async ({ text, operationKind }, variables) => {
    // A write without a key could be done twice.
    const isRepeatable = operationKind === 'query' || variables['idempotencyKey'] != null;
    for (let left = isRepeatable ? 2 : 0; ; left -= 1) {
      try {
        const response = await fetch(url, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify({ query: text, variables }),
        });
        return await response.json();
      } catch (error) {
        if (left === 0) throw error;
        await new Promise((resolve) => setTimeout(resolve, 300));
      }
    }
  };
  return new Environment({
    network: Network.create(send, subscribe),
    store: new Store(new RecordSource()),
    // What is left of a deleted row has the `nodeId` of the row, but is not the row.
    getDataID: (fields, type) => (type in GONE ? undefined : fields['nodeId']),
  });
}

/**
 * The updater of each mutation and subscription: after a write that lists may not show, all that the store has is
 * stale. It is read again when it is shown next; what is on the screen by `useSubscribeToInvalidationState`.
 */
export function forgetAfterWrites(store: RecordSourceSelectorProxy, data: unknown): void {
  const results: (Result | null)[] = Object.values(data ?? {});
  if (results.some((result) => result && listsToForget(result).length > 0)) store.invalidateStore();
}
