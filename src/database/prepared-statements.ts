import { createHash } from 'node:crypto';

import { LRUCache } from 'lru-cache';
import type { PoolClient } from 'pg';

declare module 'pg' {
  interface Connection {
    /** The statements that pg has prepared, by their names. */
    readonly parsedStatements: Record<string, string>;
  }
}

// In the process of its connection, a prepared statement takes 50 to 100 KiB, a long one up to 150 times its
// length. No statement has as many characters as all together may have.
const MAX_PREPARED = 100;
const MAX_PREPARED_LENGTH = 100_000;

const namesOf = new WeakMap<PoolClient, LRUCache<string, string>>();
let named = 0;

const createNames = ({ connection }: PoolClient): LRUCache<string, string> =>
  new LRUCache({
    max: MAX_PREPARED,
    maxSize: MAX_PREPARED_LENGTH,
    sizeCalculation: (_name, text) => text.length,
    dispose: (name) => {
      delete connection.parsedStatements[name];
      // Needs no response of its own: PostgreSQL handles it together with the next statement.
      connection.close({ type: 'S', name }, true);
    },
  });

/**
 * Returns the name of a statement on a connection, which prepares it once. A connection closes those
 * that it has not used for longest.
 */
export function statementName(client: PoolClient, text: string): string {
  const names = namesOf.get(client) ?? createNames(client);
  namesOf.set(client, names);
  const known = names.get(text);
  if (known !== undefined) return known;
  named += 1;
  const name = `s${named}`;
  names.set(text, name);
  return name;
}

/** Returns the name of one of the few statements of Prisma: a digest of its text. */
export const nameStatement = ({ sql }: { readonly sql: string }): string =>
  createHash('sha256').update(sql).digest('hex').slice(0, 32);
