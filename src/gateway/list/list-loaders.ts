import type { Database } from '../database/database.ts';
import type { Recipient } from '../database/recipient.ts';
import { bindSource, createBatcher, type DataSource } from '../model/loaders.ts';
import type { Table } from '../model/table.ts';
import type { ListArguments, Listing, Parent } from './listing.ts';
import { createReader, type Page } from './pages.ts';
import type { Window } from './window.ts';

/** Loads a list or count of the rows that belong to a parent. */
type ListLoader<Args, Value> = (
  source: DataSource,
  key: { readonly parent: bigint; readonly args: Args },
  recipient: Recipient,
) => Promise<Value>;

/** Creates a loader. All parents with equal arguments share a statement, which counts for the first of its requests. */
const byParent = <Args, Value>(
  name: string,
  read: (db: Database, ids: readonly bigint[], args: Args) => Promise<Map<bigint, Value>>,
): ListLoader<Args, Value> =>
  createBatcher<{ parent: bigint; args: Args }, Value>({
    groupBy: ({ args }) => JSON.stringify([args]),
    run: async (source, keys, recipients) => {
      source.observeBatch(name, keys.length);
      const [{ args }] = keys;
      const ids = keys.map(({ parent }) => parent);
      const valueOf = await recipients.lists.run('', () =>
        read(bindSource(source, recipients).db, [...new Set(ids)], args),
      );
      return ids.map(
        (id) => valueOf.get(id) ?? new Error(`The loader ${name} returned nothing for ${id}.`),
      );
    },
  });

/** How to read a list with SQL outside the loaders. */
export interface ListSql {
  readonly table: Table<never>;
  /** The column that references the parent; undefined for the list of all rows. */
  readonly parent?: string;
  /** @throws InvalidInput, InvalidId, InvalidCursor */
  readonly toWindow: (args: object) => Window;
}

export interface ListLoaders<Row> {
  readonly source: ListSql;
  readonly loadPage: ListLoader<ListArguments, Page<Row>>;
  readonly loadCount: ListLoader<ListArguments['filter'], number>;
}

/** Creates the loaders of a list: of all rows, or of the rows that belong to a parent. */
export function pagesOf<Row>(
  listing: Listing<Row>,
  name = listing.table.name,
  parent?: Parent<Row>,
): ListLoaders<Row> {
  const { toWindow, readPages, readCounts } = createReader(listing, parent);
  return {
    source: { table: listing.table, toWindow, ...(parent && { parent: parent.column }) },
    loadPage: byParent(`${name}.pages`, readPages),
    loadCount: byParent(`${name}.counts`, readCounts),
  };
}
