import { createHash } from 'node:crypto';

import sql from 'sql-template-tag';

import { IdempotencyConflict } from '../contract/gateway-error.ts';
import type { Database } from '../database/database.ts';
import { deleteInBatches } from '../database/delete-in-batches.ts';
import type { Session } from '../database/session.ts';
import { parseStored, type StoredValue, stringifyStored } from './stored-value.ts';

/** A request that the caller may safely repeat. */
interface Repeatable {
  readonly key: string;
  /** The subject of the caller that sent the key; undefined without authentication. */
  readonly caller: string | undefined;
  /** The parsed input, in which different spellings of a value are equal. */
  readonly input: unknown;
}

const digest = (value: unknown): Buffer =>
  createHash('sha256').update(stringifyStored(value)).digest();

/** Returns the stored form of a key, which differs for each caller. */
const toStoredKey = (key: string, caller: string | undefined): string =>
  caller === undefined ? key : digest([caller, key]).toString('hex');

/**
 * Writes once for each key of a caller. A repeated request returns the stored result of the first request.
 *
 * The key is inserted in the same transaction as the write. A concurrent request with the same key, on any gateway,
 * waits for that transaction to end. Then either the result is stored, or the write and the key were rolled back and
 * the waiting request writes. So errors are never stored.
 *
 * @throws IdempotencyConflict
 */
export function writeOnce<Result>(
  db: Database,
  { key, caller, input }: Repeatable,
  { operation, stored }: { operation: string; stored: (result: Result) => Result },
  write: (session: Session) => Promise<Result>,
): Promise<Result> {
  const storedKey = toStoredKey(key, caller);
  const hash = digest([operation, input]);
  return db.transaction(async (session) => {
    const [entry] = await session.write<{ hash: Uint8Array; result: StoredValue | null }>(
      sql`
        insert into idempotency_keys (key, request_hash) values (${storedKey}, ${hash})
        on conflict (key) do update set key = excluded.key
        returning request_hash as hash, result`,
    );
    if (entry && !hash.equals(entry.hash)) throw new IdempotencyConflict(key);
    // The same operation has stored it.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    if (entry?.result) return stored(parseStored(entry.result) as Result);
    const result = await write(session);
    await session.write(sql`
      update idempotency_keys set result = ${stringifyStored(stored(result))}::jsonb
      where key = ${storedKey}`);
    return result;
  });
}

/** Deletes the keys that are older than `ageMs`. Locked keys, as by another gateway, are left for later. */
export const deleteOldKeys = (db: Database, ageMs: number): Promise<void> =>
  deleteInBatches(
    db,
    'idempotency_keys',
    'key',
    sql`where created_at < now() - ${ageMs} * interval '1 millisecond' for update skip locked`,
  );
