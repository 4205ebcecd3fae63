import DataLoader from 'dataloader';
import sql, { raw } from 'sql-template-tag';

import type { Database } from '../database/database.ts';
import { DetachedRecipient, type Recipient, Recipients } from '../database/recipient.ts';
import { toSharedWho } from '../database/who.ts';
import { columnsOf, type Field, type Table } from './stored-table.ts';

/** The database that loaders read, and a function that observes batches. */
export interface DataSource {
  readonly db: Database;
  /** Called with the size of each batch, and a name: a loader's, a batched write's, or `statement`. */
  readonly observeBatch: (loader: string, size: number) => void;
  /** The source that this one was made from, with `bindSource`; undefined for a source that all requests share. */
  readonly shared?: DataSource | undefined;
  /** Whom it was made for. */
  readonly recipient?: Recipient;
}

/**
 * Returns the source of one request, or of several that share a statement: what statements wait for is added to the
 * recipient's log.
 */
export function bindSource(source: DataSource, recipient: Recipient): DataSource {
  const { shared = source } = source;
  const { db } = shared;
  return {
    shared,
    recipient,
    observeBatch: shared.observeBatch,
    db: {
      ...db,
      query: (statement, effort, own = recipient) => db.query(statement, effort, own),
      write: (statement) => db.write(statement, recipient),
      transaction: (work) => db.transaction(work, recipient),
    },
  };
}

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
  /**
   * For batches that write in the names of all their requests: a column of the changed rows, and its value for a key. Of
   * several keys with the same value, `run` must write the first. Any other change is made in nobody's name.
   */
  readonly changes?: {
    readonly field: Field<bigint | string>;
    readonly of: (key: Key) => bigint | string;
  };
  /** Returns the values in the order of the keys. `source` is that of the first request. */
  readonly run: (
    source: DataSource,
    keys: readonly [Key, ...Key[]],
    recipients: Recipients,
  ) => Values<Value>;
}

interface Lookup<Key> {
  readonly source: DataSource;
  readonly key: Key;
  readonly recipient: Recipient | undefined;
}

class Batch<Key, Value> {
  readonly lookups: Lookup<Key>[] = [];
  readonly keys: Key[] = [];
  readonly indexOf = new Map<unknown, number>();
  /** Undefined until all lookups of the tick are in their batches. */
  values: Values<Value> | undefined;

  /** Returns the index of the lookup's key. */
  add(lookup: Lookup<Key>, identity: unknown): number {
    this.lookups.push(lookup);
    const index = this.indexOf.get(identity) ?? this.keys.push(lookup.key) - 1;
    this.indexOf.set(identity, index);
    return index;
  }

  async valueAt(index: number): Promise<Value> {
    const value = (await this.values)?.[index];
    if (value instanceof Error) throw value;
    // There is a value for each key.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return value as Value;
  }
}

const IN_TICK = {
  cache: false,
  batchScheduleFn: (dispatch: () => void): void => void setImmediate(dispatch),
};

/** Returns the batch of each lookup, and the index of its key there. */
function toBatches<Key, Value>(
  lookups: readonly Lookup<Key>[],
  { groupBy, identify = (key) => key, maxSize }: BatcherOptions<Key, Value>,
) {
  // Each tick has a new Map, because a Map that keeps changing would hold deleted work in memory.
  const groups = new Map<unknown, Batch<Key, Value>[]>();
  return lookups.map((lookup) => {
    const group = groupBy?.(lookup.key);
    const identity = identify(lookup.key);
    const max = maxSize?.(lookup.key) ?? Infinity;
    const batches = groups.get(group) ?? [];
    const batch =
      batches.find(({ indexOf }) => indexOf.has(identity)) ??
      batches.find(({ keys }) => keys.length < max) ??
      new Batch<Key, Value>();
    if (batch.keys.length === 0) groups.set(group, [...batches, batch]);
    return { batch, index: batch.add(lookup, identity) };
  });
}

/**
 * Creates a function that loads the value of a key together with the keys that all requests load in the same tick. Under
 * load, many requests share a statement; on an idle server, no request waits for others. Nothing is cached, and a
 * statement starts after every request that shares it, so nothing is stale.
 */
export function createBatcher<Key, Value>(options: BatcherOptions<Key, Value>) {
  const { changes } = options;
  /** Returns the source of the first request or, after a mutation, one that writes in the names of all. */
  const sourceOf = (first: DataSource, lookups: readonly Lookup<Key>[]): DataSource => {
    const { recipient } = first;
    if (recipient?.who === undefined || lookups.length === 1) return first;
    const who =
      changes &&
      toSharedWho(
        changes.field.ownColumn,
        lookups.map(({ key, source }) => [changes.of(key), source.recipient?.who]),
      );
    return bindSource(first, new DetachedRecipient(recipient, who));
  };

  const start = (
    lookups: readonly Lookup<Key>[],
    keys: readonly Key[] = lookups.map(({ key }) => key),
  ): Values<Value> => {
    const [first] = lookups;
    if (!first) return Promise.resolve([]);
    const recipients = new Recipients();
    for (const { recipient } of lookups) if (recipient) recipients.add(recipient);
    const source = sourceOf(first.source, lookups);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- there is a key for the first lookup
    return options.run(source, keys as readonly [Key, ...Key[]], recipients);
  };

  const isOneBatch = !options.groupBy && !options.maxSize;
  const runAll = (lookups: readonly Lookup<Key>[]): Values<Value> => {
    if (isOneBatch || lookups.length === 1) return start(lookups);
    const places = toBatches(lookups, options);
    for (const { batch } of places) batch.values ??= start(batch.lookups, batch.keys);
    const values: unknown[] = places.map(({ batch, index }) => batch.valueAt(index));
    // DataLoader resolves with these promises, so no lookup waits for the batch of another one.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return Promise.resolve(values as Value[]);
  };

  const loaders = new WeakMap<DataSource, DataLoader<Lookup<Key>, Value>>();
  return (source: DataSource, key: Key, recipient?: Recipient): Promise<Value> => {
    const { shared = source } = source;
    let loader = loaders.get(shared);
    if (!loader) {
      loader = new DataLoader(runAll, IN_TICK);
      loaders.set(shared, loader);
    }
    return loader.load({ source, key, recipient });
  };
}

/** Loads rows of a table by their ids, batched with other requests. */
export interface RowLoader<Value> {
  readonly table: Table<never>;
  readonly load: (source: DataSource, id: bigint) => Promise<Value>;
}

/** Creates a loader of rows by id, which returns null for a missing row. */
export function byId<Row>(
  name: string,
  table: Table<Row>,
  read = (db: Database, ids: readonly bigint[]): Promise<Row[]> =>
    db.query(sql`
      select ${columnsOf(table)} from ${raw(table.name)}
      where ${raw(table.id.column)} = any((select ${ids}::bigint[])::bigint[])`),
): RowLoader<Row | null> {
  const load = createBatcher<bigint, Row | null>({
    run: async ({ db, observeBatch }, ids) => {
      observeBatch(name, ids.length);
      const rows = await read(db, [...new Set(ids)]);
      const rowOf = new Map(rows.map((row) => [table.id.of(row), row]));
      return ids.map((id) => rowOf.get(id) ?? null);
    },
  });
  return { table, load };
}

/** Returns a loader that rejects with `missing(id)` instead of returning null. */
export const required = <Row>(
  { table, load }: RowLoader<Row | null>,
  missing: (id: bigint) => Error,
): RowLoader<Row> => ({
  table,
  load: async (source, id) => {
    const row = await load(source, id);
    if (row === null) throw missing(id);
    return row;
  },
});
