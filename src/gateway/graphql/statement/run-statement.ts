import DataLoader from 'dataloader';

import { type Recipient, shareInTurn } from '../../database/recipient.ts';
import { MAX_SHARED, SHARED, type DataSource } from '../../tables/loaders.ts';
import type { PreparedStatement, StatementText } from './compile.ts';

/** A row of a statement. */
interface Row {
  readonly number: number;
  readonly json: string;
  /** How long PostgreSQL took until this row, in milliseconds; only of statements that can be shared. */
  readonly ms?: number;
}

type Values = readonly unknown[];

const MAX_SHARED_MS = 20;
// A statement can take longer for other values, so its longest time counts, with each execution less.
const REMEMBERED = 0.95;

const keyOf = (values: Values): string => JSON.stringify(values.map(String));

/** Returns the data in a row of a statement. */
function jsonOf(row: Row | undefined): string {
  if (!row?.json) throw new Error('A compiled query returned no data.');
  return row.json;
}

/**
 * Creates the function that runs a statement for one request, and returns the data as JSON. Requests of one tick whose statements
 * differ only in ids and texts share one, which saves PostgreSQL and the gateway a round trip each; equal
 * requests are one for PostgreSQL.
 */
export function createRunStatement({ db, observeBatch }: DataSource) {
  const share = shareInTurn<DataLoader<Values, string, string>>();
  // How long a statement takes for each of its requests: the longest time, falling slowly.
  const msPerRequest = new WeakMap<StatementText, number>();

  /** Returns how many requests can share a statement, so that none waits long for the others. */
  const maxSharedOf = (statement: StatementText): number => {
    if (!statement.isShared) return 1;
    // How long a count or a search takes is not known before.
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
