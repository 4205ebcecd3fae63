import DataLoader from 'dataloader';

import { type Recipient, shareInTick } from '../../database/recipient.ts';
import { MAX_SHARED, SHARED, type DataSource } from '../../model/loaders.ts';
import type { PreparedStatement } from './compile.ts';
import type { StatementText } from './write-statement.ts';

interface Row {
  readonly number: number;
  readonly json: string;
  /** The milliseconds from the start of the statement to this row; only for statements that can be shared. */
  readonly ms?: number;
}

type Values = readonly unknown[];

const MAX_SHARED_MS = 20;
// Other values can make a statement slower, so its longest time counts. That time decays with each execution.
const REMEMBERED = 0.95;

const keyOf = (values: Values): string =>
  JSON.stringify(values, (_key, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );

function jsonOf(row: Row | undefined): string {
  if (!row?.json) throw new Error('A compiled query returned no data.');
  return row.json;
}

/**
 * Creates the function that runs a statement for one request and returns the data as JSON. Requests in the same tick
 * that differ only in parameter values can share a statement: at most eight, fewer if it is slow. This saves round
 * trips between the gateway and PostgreSQL. Equal requests are sent only once.
 */
export function createRunStatement({ db, observeBatch }: DataSource) {
  const share = shareInTick<DataLoader<Values, string, string>>();
  // Each statement's longest time per request, which decays slowly.
  const msPerRequest = new WeakMap<StatementText, number>();

  /** Returns how many requests can share a statement without waiting long for each other. */
  const maxSharedOf = (statement: StatementText): number => {
    if (!statement.isShared) return 1;
    // A count or search is not shared before it has run once, because its time is unknown until then.
    const ms = msPerRequest.get(statement) ?? (statement.load === 'heavy' ? MAX_SHARED_MS : 0);
    return Math.max(1, Math.min(MAX_SHARED, Math.floor(MAX_SHARED_MS / ms)));
  };

  const runFor = async (
    statement: StatementText,
    requests: readonly Values[],
    recipients: Recipient,
  ): Promise<string[]> => {
    const { text, planning, load, isShared } = statement;
    const [first = []] = requests;
    if (isShared) observeBatch('statement', requests.length);
    const values = first.map((value, index) =>
      isShared ? requests.map((request) => request[index]) : value,
    );
    const rows = await db.query<Row>({ text, values }, planning, load, recipients);
    const ms = Math.max(...rows.map((row) => row.ms ?? 0)) / requests.length;
    msPerRequest.set(statement, Math.max(ms, REMEMBERED * (msPerRequest.get(statement) ?? 0)));
    const rowOf = new Map(rows.map((row) => [row.number, row]));
    return requests.map((_request, index) => jsonOf(rowOf.get(index + 1)));
  };

  const createBatch = (statement: StatementText, recipients: Recipient) =>
    new DataLoader((requests: readonly Values[]) => runFor(statement, requests, recipients), {
      cacheKeyFn: keyOf,
      maxBatchSize: maxSharedOf(statement),
      batchScheduleFn: SHARED.batchScheduleFn,
    });

  return ({ statement, values }: PreparedStatement, recipient: Recipient): Promise<string> =>
    share(statement, recipient, (recipients) => createBatch(statement, recipients)).load(values);
}
