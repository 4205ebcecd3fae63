import { createHash } from 'node:crypto';

import { deserialize, serialize, stringify, type SuperJSONResult } from 'superjson';

import { IdempotencyConflict } from '../contract/errors.ts';
import { IdempotencyKey, parse } from '../contract/values.ts';
import type { Database, Session } from './database.ts';
import { Prisma } from './generated/prisma/client.ts';

/** Who writes, and its own name for this write. */
export interface CallerKey {
  /** Null or undefined if it gave none. */
  readonly key: string | null | undefined;
  /** Undefined where nobody asks who calls. */
  readonly caller: string | undefined;
}

/** A write that a caller may send again without its being done again. */
interface IdempotentWrite extends CallerKey {
  readonly operation: string;
  /** The checked input, so that two ways to write the same value count as one. */
  readonly input: unknown;
}

const digest = (value: unknown): Buffer => createHash('sha256').update(stringify(value)).digest();

/** A caller's key as it is stored: others' are never the same. */
const toStored = (key: string, caller: string | undefined): string =>
  caller === undefined ? key : digest([caller, key]).toString('hex');

/**
 * Writes once for a caller's key: the same request again gives what was made then, as it was.
 *
 * The key is taken in the transaction that writes. Whoever comes with the same key meanwhile waits
 * for that transaction to end, at whichever gateway: then either the result is there, or the write
 * failed, the key is free, and it is tried anew. So errors are not kept.
 *
 * @throws InvalidInput, IdempotencyConflict
 */
export async function writeOnce<Result>(
  db: Database,
  request: IdempotentWrite,
  write: (session: Session) => Promise<Result>,
): Promise<Result> {
  if (request.key == null) return write(db);
  const key = parse(IdempotencyKey, request.key, 'idempotencyKey');
  const stored = toStored(key, request.caller);
  const hash = digest([request.operation, request.input]);
  return db.transaction(async (session) => {
    const [entry] = await session.query<{ hash: Uint8Array; result: SuperJSONResult | null }>(
      Prisma.sql`
        insert into idempotency_keys (key, request_hash) values (${stored}, ${hash})
        on conflict (key) do update set key = excluded.key
        returning request_hash as hash, result`,
    );
    if (entry && !hash.equals(entry.hash)) throw new IdempotencyConflict(key);
    if (entry?.result) return deserialize(entry.result);
    const result = await write(session);
    await session.query(Prisma.sql`
      update idempotency_keys set result = ${JSON.stringify(serialize(result))}::jsonb
      where key = ${stored}`);
    return result;
  });
}

const BATCH = 1000;

/**
 * Forgets the keys that are older than `ageMs`, a batch at a time, so that none is locked for long.
 * A key that somebody else has locked, another gateway that forgets too, is left to the next time.
 */
export async function deleteOldKeys(db: Database, ageMs: number): Promise<void> {
  const limit = new Date(Date.now() - ageMs).toISOString();
  let forgotten: number;
  do {
    const [row] = await db.query<{ count: number }>(Prisma.sql`
      with old as (
        select key from idempotency_keys where created_at < ${limit}::text::timestamptz
        limit ${BATCH}::integer for update skip locked
      ), forgotten as (
        delete from idempotency_keys using old where idempotency_keys.key = old.key returning 1
      )
      select count(*)::integer as count from forgotten`);
    forgotten = row?.count ?? 0;
  } while (forgotten === BATCH);
}
