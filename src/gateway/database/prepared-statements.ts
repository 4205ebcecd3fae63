import type { PoolClient } from 'pg';

import { perObject } from './per-object.ts';

// In the process of its connection, a prepared statement takes 50 to 100 KiB, a long one up to 150 times its
// length. pg closes none while its connection is open.
const MAX_PREPARED = 100;
const MAX_PREPARED_LENGTH = 100_000;

/** The statements that a connection has prepared: their names, by their texts, and the length of all texts. */
const preparedBy = perObject((_client: PoolClient) => ({
  names: new Map<string, string>(),
  length: 0,
}));

/** Returns the name of a statement on a connection, which prepares it once. */
export function statementName(client: PoolClient, text: string): string {
  const prepared = preparedBy(client);
  const known = prepared.names.get(text);
  if (known !== undefined) return known;
  const name = `s${prepared.names.size + 1}`;
  prepared.names.set(text, name);
  prepared.length += text.length;
  return name;
}

/** Whether a connection has prepared so many statements that a new one should replace it. */
export function isFull(client: PoolClient): boolean {
  const { names, length } = preparedBy(client);
  return names.size >= MAX_PREPARED || length >= MAX_PREPARED_LENGTH;
}
