import DataLoader from 'dataloader';

import type { DataSource } from './data-source.ts';
import { perObject } from './per-object.ts';
import { type Recipient, Recipients } from './recipient.ts';

/**
 * How many requests may share a compiled statement or a batched write. They wait for each other, and one PostgreSQL
 * process runs the statement.
 */
export const MAX_SHARED = 8;

type Values<Value> = Promise<readonly (Value | Error)[]>;

interface BatcherOptions<Key, Value> {
  /** Only keys of the same group share a batch; by default, all do. */
  readonly groupBy?: (key: Key) => unknown;
  /** Keys of a group with the same identity count as one; by default, a key is its own identity. */
  readonly identify?: (key: Key) => unknown;
  /** The maximum number of keys in the batch of a key; unlimited by default. */
  readonly maxSize?: (key: Key) => number;
  /** Returns the values in the order of the keys. `source` is that of the first request. */
  readonly run: (
    source: DataSource,
    keys: readonly [Key, ...Key[]],
    recipients: Recipients,
  ) => Values<Value>;
}

interface Load<Key> {
  readonly source: DataSource;
  readonly key: Key;
  readonly recipient: Recipient | undefined;
}

class Batch<Key, Value> {
  readonly keys: Key[] = [];
  readonly indexOf = new Map<unknown, number>();
  readonly loads: Load<Key>[] = [];
  /** Undefined until all keys of the tick are in their batches. */
  values: Values<Value> | undefined;

  /** Adds a load, and returns the function that waits for its value. */
  add(load: Load<Key>, identity: unknown): () => Promise<Value> {
    this.loads.push(load);
    const index = this.indexOf.get(identity) ?? this.keys.push(load.key) - 1;
    this.indexOf.set(identity, index);
    return async () => {
      const value = (await this.values)?.[index];
      if (value instanceof Error) throw value;
      // There is a value for each key.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      return value as Value;
    };
  }
}

/**
 * Creates a function that loads the value of a key together with the keys that all requests load in the same tick. Under
 * load, many requests share a statement; on an idle server, no request waits for others. Nothing is cached, and a
 * statement starts after every request that shares it, so nothing is stale.
 */
export function createBatcher<Key, Value>({
  groupBy,
  identify = (key) => key,
  maxSize,
  run,
}: BatcherOptions<Key, Value>) {
  const start = (loads: readonly Load<Key>[], keys: readonly Key[]): Values<Value> => {
    const [first] = loads;
    if (!first) return Promise.resolve([]);
    const recipients = new Recipients();
    for (const { recipient } of loads) if (recipient) recipients.add(recipient);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- there is a key for the first load
    return run(first.source, keys as readonly [Key, ...Key[]], recipients);
  };

  /** Adds a load to a batch of its group, which may be a new one. */
  const addTo = (batches: Batch<Key, Value>[], load: Load<Key>): (() => Promise<Value>) => {
    const identity = identify(load.key);
    const max = maxSize?.(load.key) ?? Infinity;
    const known = batches.find(({ indexOf }) => indexOf.has(identity));
    const batch = known ?? batches.find(({ keys }) => keys.length < max) ?? new Batch();
    if (batch.keys.length === 0) batches.push(batch);
    return batch.add(load, identity);
  };

  const runAll = (loads: readonly Load<Key>[]): Values<Value> => {
    if (loads.length === 1 || !(groupBy || maxSize)) {
      return start(
        loads,
        loads.map(({ key }) => key),
      );
    }
    const groups = new Map<unknown, Batch<Key, Value>[]>();
    const waits = loads.map((load) => {
      const group = groupBy?.(load.key);
      const batches = groups.get(group) ?? [];
      groups.set(group, batches);
      return addTo(batches, load);
    });
    for (const batch of [...groups.values()].flat()) batch.values = start(batch.loads, batch.keys);
    // DataLoader resolves with these promises, so no load waits for the batch of another one.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return Promise.resolve(waits.map((wait) => wait()) as unknown[] as Value[]);
  };

  const loaderOf = perObject(
    (_source: DataSource) =>
      new DataLoader<Load<Key>, Value>(runAll, {
        cache: false,
        batchScheduleFn: (dispatch) => void setImmediate(dispatch),
      }),
  );
  return (source: DataSource, key: Key, recipient?: Recipient): Promise<Value> =>
    loaderOf(source.shared ?? source).load({ source, key, recipient });
}
