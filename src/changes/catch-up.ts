import { setTimeout as sleep } from 'node:timers/promises';

import pLimit from 'p-limit';

import type { Database } from '../database/database.ts';
import { Prisma } from '../database/generated/prisma/client.ts';
import { type Change, CHANGE_COLUMNS, type ChangedType, IS_KNOWN, type Place } from './record.ts';
import { type RowFilter, toCondition } from './row-filter.ts';

// How many changes one statement returns.
const PAGE = 500;
// How many changes of the type one statement compares with a filter.
const MAX_COMPARED = 5000;
// How many statements may read old changes at the same time, so that connections are left for requests.
const MAX_CATCHING_UP = 4;

const { sql, raw, join } = Prisma;

/** What is read, and for whom. */
interface Request {
  readonly type: ChangedType;
  readonly filter: RowFilter | undefined;
  readonly callerKey: string;
}

/** Changes that match, and the place up to which all have been read. */
interface Page {
  readonly changes: readonly Change[];
  readonly end: Place | undefined;
  readonly hasNext: boolean;
}

const compare = (operator: '>' | '<=', { transaction, id }: Place): Prisma.Sql =>
  sql`(transaction, id) ${raw(operator)} (${transaction}::bigint, ${id}::bigint)`;

/** Reads changes that match. However few they are, a page reads a limited part of the record. */
async function readPage(
  db: Database,
  { type, filter }: Request,
  after: Place | undefined,
): Promise<Page> {
  const conditions = [raw(`type = '${type}'`), IS_KNOWN];
  if (after) conditions.push(compare('>', after));
  const ofType = sql`from settled_changes where ${join(conditions, ' and ')}`;
  const inOrder = raw('order by transaction, id');
  let horizon: Place | undefined;
  if (filter) {
    [horizon] = await db.query<Place>(
      sql`select transaction, id ${ofType} ${inOrder} offset ${raw(`${MAX_COMPARED - 1}`)} limit 1`,
    );
    if (horizon) conditions.push(compare('<=', horizon));
    conditions.push(toCondition(filter));
  }
  const changes = await db.query<Change>(
    sql`select ${CHANGE_COLUMNS} from settled_changes where ${join(conditions, ' and ')}
    ${inOrder} limit ${raw(`${PAGE}`)}`,
  );
  const isFull = changes.length === PAGE;
  const last = changes.at(-1) ?? after;
  return {
    changes,
    end: isFull ? last : (horizon ?? last),
    hasNext: isFull || horizon !== undefined,
  };
}

/**
 * Reads a page of old changes after a place, or from the start of the record, in the turn of the caller;
 * nothing if the stream has ended by then.
 */
type CatchUp = (
  request: Request,
  after: Place | undefined,
  stream: { readonly isStopped: boolean },
) => Promise<Page>;

/**
 * Creates the function that reads old changes: one page of a caller at a time. If more follow, the caller
 * rests as long as the page took: so it uses half a connection, however many subscriptions it resumes.
 */
export function createCatchUp(db: Database): CatchUp {
  const limit = pLimit(MAX_CATCHING_UP);
  // The ends of the last turns of the callers that have one.
  const ends = new Map<string, Promise<void>>();
  const read = async (
    ...[request, after, { isStopped }]: Parameters<CatchUp>
  ): Promise<{ page: Page; restMs: number }> => {
    if (isStopped) return { page: { changes: [], end: after, hasNext: false }, restMs: 0 };
    const startedAt = performance.now();
    const page = await readPage(db, request, after);
    return { page, restMs: page.hasNext ? performance.now() - startedAt : 0 };
  };
  return async (...request) => {
    const [{ callerKey }] = request;
    const before = ends.get(callerKey);
    const turn = (async () => {
      await before;
      return limit(() => read(...request));
    })();
    const rest = async (): Promise<void> => {
      const restMs = await turn.then(
        (done) => done.restMs,
        () => 0,
      );
      if (restMs > 0) await sleep(restMs, undefined, { ref: false });
      if (ends.get(callerKey) === end) ends.delete(callerKey);
    };
    const end = rest();
    ends.set(callerKey, end);
    return (await turn).page;
  };
}
