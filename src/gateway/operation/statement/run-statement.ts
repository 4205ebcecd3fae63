import { createBatcher, MAX_SHARED } from '../../model/loaders.ts';
import { toJson } from '../../model/stored-value.ts';
import type { PreparedStatement } from './compile.ts';
import type { StatementText } from './write-statement.ts';

interface StatementRow {
  readonly number: number;
  readonly json: string;
  /** The milliseconds from the start of the statement to this row; only for statements that can be shared. */
  readonly ms?: number;
}

const MAX_SHARED_MS = 20;
// Other values can make a statement slower, so its longest time counts. That time decays with each execution.
const REMEMBERED = 0.95;

function jsonOf(row: StatementRow | undefined): string {
  if (!row?.json) throw new Error('A compiled query returned no data.');
  return row.json;
}

// Each statement's longest time per request, which decays slowly.
const msPerRequest = new WeakMap<StatementText, number>();

/** Returns how many requests can share a statement without waiting long for each other. */
function maxSharedOf({ statement }: PreparedStatement): number {
  if (!statement.isShared) return 1;
  // A count or search is not shared before it has run once, because its time is unknown until then.
  const ms = msPerRequest.get(statement) ?? (statement.load === 'heavy' ? MAX_SHARED_MS : 0);
  return Math.max(1, Math.min(MAX_SHARED, Math.floor(MAX_SHARED_MS / ms)));
}

/**
 * Runs a statement for one request and returns the data as JSON. Up to eight requests in a tick that differ only in
 * parameter values share a statement, fewer if it is slow. Equal requests are sent only once.
 */
export const runStatement = createBatcher<PreparedStatement, string>({
  groupBy: ({ statement }) => statement,
  identify: ({ values }) => toJson(values),
  maxSize: maxSharedOf,
  run: async ({ db, observeBatch }, requests, recipients) => {
    const [{ statement, values: first }] = requests;
    const { text, isShared } = statement;
    if (isShared) observeBatch('statement', requests.length);
    const values = first.map((value, index) =>
      isShared ? requests.map((request) => request.values[index]) : value,
    );
    const rows = await db.query<StatementRow>({ text, values }, statement, recipients);
    const ms = Math.max(...rows.map((row) => row.ms ?? 0)) / requests.length;
    msPerRequest.set(statement, Math.max(ms, REMEMBERED * (msPerRequest.get(statement) ?? 0)));
    const rowOf = new Map(rows.map((row) => [row.number, row]));
    return requests.map((_request, index) => jsonOf(rowOf.get(index + 1)));
  },
});
