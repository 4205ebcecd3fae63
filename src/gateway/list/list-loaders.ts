import DataLoader from 'dataloader';
import type { LimitFunction } from 'p-limit';

import type { Database } from '../database/database.ts';
import { type Recipient, shareInTick } from '../database/recipient.ts';
import { bindSource, type DataSource, perSource, SHARED } from '../model/loaders.ts';
import type { Table } from '../model/table.ts';
import type { ListArguments, Listing, Parent } from './listing.ts';
import { createReader, type Page } from './pages.ts';
import type { Window } from './window.ts';

/** A request that loads lists and counts. */
export interface ListRequest {
  /** Limits how many statements of the request run at the same time. */
  readonly limit: LimitFunction;
  readonly recipient: Recipient;
}

/**
 * Loads a list or count of the rows that belong to a parent. A shared statement counts towards the limits of all its
 * requests, and starts as soon as one of them has room.
 */
type ListLoader<Args, Value> = (
  source: DataSource,
  key: { readonly parent: bigint; readonly args: Args },
  request: ListRequest,
) => Promise<Value>;

/** The lookups that share a statement, and the limits of their requests. */
interface Batch<Value> {
  readonly loader: DataLoader<bigint, Value>;
  readonly limits: Set<LimitFunction>;
}

/** Creates a loader. All parents with equal arguments share a batch. */
function byParent<Args, Value>(
  name: string,
  read: (db: Database, ids: readonly bigint[], args: Args) => Promise<Map<bigint, Value>>,
): ListLoader<Args, Value> {
  const sharedOf = perSource(() => shareInTick<Batch<Value>>());
  const createBatch = (source: DataSource, args: Args): Batch<Value> => {
    const limits = new Set<LimitFunction>();
    const loader = new DataLoader<bigint, Value>(async (ids) => {
      source.observeBatch(name, ids.length);
      let values: Promise<Map<bigint, Value>> | undefined;
      const start = () => (values ??= read(source.db, [...new Set(ids)], args));
      const valueOf = await Promise.race(Array.from(limits, (limit) => limit(start)));
      return ids.map(
        (id) => valueOf.get(id) ?? new Error(`The loader ${name} returned nothing for ${id}.`),
      );
    }, SHARED);
    return { loader, limits };
  };
  return (source, { parent, args }, { limit, recipient }) => {
    const batch = sharedOf(source)(JSON.stringify([args]), recipient, (recipients) =>
      createBatch(bindSource(source, recipients), args),
    );
    batch.limits.add(limit);
    return batch.loader.load(parent);
  };
}

/** How to read a list with SQL outside the loaders. */
export interface ListSource {
  readonly table: Table<never>;
  /** The column that references the parent; undefined for the list of all rows. */
  readonly parent?: string;
  /** @throws InvalidInput, InvalidId, InvalidCursor */
  readonly toWindow: (args: object) => Window;
}

export interface Pages<Row> {
  readonly source: ListSource;
  readonly loadPage: ListLoader<ListArguments, Page<Row>>;
  readonly loadCount: ListLoader<ListArguments['filter'], number>;
}

/** Creates the loaders of a list: of all rows, or of the rows that belong to a parent. */
export function pagesOf<Row>(
  listing: Listing<Row>,
  name = listing.table.name,
  parent?: Parent<Row>,
): Pages<Row> {
  const { toWindow, readPages, readCounts } = createReader(listing, parent);
  return {
    source: { table: listing.table, toWindow, ...(parent && { parent: parent.column }) },
    loadPage: byParent(`${name}.pages`, readPages),
    loadCount: byParent(`${name}.counts`, readCounts),
  };
}
