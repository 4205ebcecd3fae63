import type { IncomingHttpHeaders } from 'node:http';

import type { DataSource } from './loaders.ts';

/** A header of responses. Reads that send it back are at least as recent as the response. */
export const POSITION_HEADER = 'Store-Position';

/** Returns a position. Clients compare positions as strings, to keep the latest; the gateway only checks for one. */
export const currentPosition = (): string =>
  // Gateways of 3.1 compare it with positions in the write-ahead log, in bytes. Microseconds since 1970 are more, so
  // those gateways read from the primary too.
  (Date.now() * 1000).toString(16).padStart(16, '0');

/** Returns the source for a read, by the headers of its request. */
export type SourceFor = (headers: IncomingHttpHeaders) => DataSource;

/** Creates the function that chooses the source for a read; undefined if all reads find the current rows. */
export function createSourceFor(source: DataSource): SourceFor | undefined {
  const { queryOlder } = source.db;
  if (!queryOlder) return undefined;
  const older: DataSource = { ...source, db: { ...source.db, query: queryOlder } };
  return (headers) => (headers['store-position'] === undefined ? older : source);
}
