import { createHash } from 'node:crypto';

import { deserialize, serialize, stringify, type SuperJSONResult } from 'superjson';

import { IdempotencyConflict } from '../errors.ts';
import { IdempotencyKey, parse } from '../values.ts';
import type { Database, Session } from './database.ts';
import { Prisma } from './generated/prisma/client.ts';

/** A write that a caller may send again without its being done again. */
interface Request {
  /** The caller's name for this write; null or undefined if it gave none. */
  readonly key: string | null | undefined;
  readonly operation: string;
  /** The checked input, so that two ways to write the same value count as one. */
  readonly input: unknown;
}

/**
 * Writes once for a key: the same request again gives what was made then, as it was.
 *
 * The key is taken in the transaction that writes. Whoever comes with the same key meanwhile waits
 * for that transaction to end, at whichever gateway: then either the result is there, or the write
 * failed, the key is free, and it is tried anew. So errors are not kept.
 *
 * @throws InvalidInput, IdempotencyConflict
 */
export async function writeOnce<Result>(
  db: Database,
  request: Request,
  write: (session: Session) => Promise<Result>,
): Promise<Result> {
  if (request.key == null) return write(db);
  const key = parse(IdempotencyKey, request.key, 'idempotencyKey');
  const { operation, input } = request;
  const hash = createHash('sha256')
    .update(stringify([operation, input]))
    .digest();
  return db.transaction(async (session) => {
    const [entry] = await session.query<{ hash: Uint8Array; result: SuperJSONResult | null }>(
      Prisma.sql`
        insert into idempotency_keys (key, request_hash) values (${key}, ${hash})
        on conflict (key) do update set key = excluded.key
        returning request_hash as hash, result`,
    );
    if (entry && !hash.equals(entry.hash)) throw new IdempotencyConflict(key);
    if (entry?.result) return deserialize(entry.result);
    const result = await write(session);
    await session.query(Prisma.sql`
      update idempotency_keys set result = ${JSON.stringify(serialize(result))}::jsonb
      where key = ${key}`);
    return result;
  });
}

/** Forgets the keys that are older than `ageMs`. */
export async function forgetOldKeys(db: Database, ageMs: number): Promise<void> {
  const createdAt = { lt: new Date(Date.now() - ageMs) };
  await db.prisma.idempotencyKey.deleteMany({ where: { createdAt } });
}
