import { setTimeout as wait } from 'node:timers/promises';

import {
  Environment,
  type FetchFunction,
  Network,
  RecordSource,
  Store,
  type SubscribeFunction,
} from 'relay-runtime';

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
        await wait(300);
      }
    }
  };
  return new Environment({
    network: Network.create(send, subscribe),
    store: new Store(new RecordSource()),
    getDataID: (fields) => fields['nodeId'],
  });
}
