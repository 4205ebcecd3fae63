import { setImmediate as nextTurn } from 'node:timers/promises';

import DataLoader from 'dataloader';

import type { Store } from '../../database/loaders.ts';
import type { PreparedStatement, StatementText } from './compile.ts';

/** A row of a statement. */
interface Row {
  readonly number: number;
  readonly json: string;
}

// Requests that share a statement wait for each other, and PostgreSQL executes it in one process.
const MAX_SHARED = 8;

/** Runs a statement for one request; returns the data as JSON. */
export type RunStatement = (prepared: PreparedStatement) => Promise<string>;

const keyOf = (values: readonly unknown[]): string => JSON.stringify(values.map(String));

/** Returns the data in a row of a statement. */
function jsonOf(row: Row | undefined): string {
  if (!row?.json) throw new Error('A compiled query returned no data.');
  return row.json;
}

/** Runs a statement once for all requests with these values. Equal requests are one for PostgreSQL. */
async function runShared(
  { db, observeBatch }: Store,
  { text, planning, load }: StatementText,
  requests: readonly (readonly unknown[])[],
): Promise<string[]> {
  observeBatch('statement', requests.length);
  const keys = requests.map(keyOf);
  const distinct = new Map(requests.map((values, index) => [keys[index] ?? '', values]));
  const [first = []] = requests;
  const arrays = first.map((_value, index) =>
    [...distinct.values()].map((values) => values[index]),
  );
  const rows = await db.query<Row>({ text, values: arrays }, planning, load);
  const rowOf = new Map(rows.map((row) => [row.number, row]));
  const numberOf = new Map([...distinct.keys()].map((key, index) => [key, index + 1]));
  return keys.map((key) => jsonOf(rowOf.get(numberOf.get(key) ?? 0)));
}

/**
 * Creates the function that runs statements. Requests of one turn of the event loop whose statements
 * differ only in ids and texts share one, which saves PostgreSQL and the gateway a round trip each.
 */
export function createRunStatement(store: Store): RunStatement {
  const loaders = new WeakMap<StatementText, DataLoader<readonly unknown[], string>>();
  const loaderOf = (statement: StatementText): DataLoader<readonly unknown[], string> => {
    const known = loaders.get(statement);
    if (known) return known;
    const loader = new DataLoader<readonly unknown[], string>(
      (requests) => runShared(store, statement, requests),
      {
        cache: false,
        maxBatchSize: MAX_SHARED,
        batchScheduleFn: (dispatch) => void setImmediate(dispatch),
      },
    );
    loaders.set(statement, loader);
    return loader;
  };
  // Equal statements of a turn, which can be counts of a whole list, run once too.
  const pending = new Map<string, Promise<string>>();
  const runOnce = (
    { text, planning, load }: StatementText,
    values: readonly unknown[],
  ): Promise<string> => {
    const key = `${keyOf(values)} ${text}`;
    const runNextTurn = async (): Promise<string> => {
      await nextTurn();
      pending.delete(key);
      const [row] = await store.db.query<Row>({ text, values: [...values] }, planning, load);
      return jsonOf(row);
    };
    const json = pending.get(key) ?? runNextTurn();
    pending.set(key, json);
    return json;
  };
  return ({ statement, values }) =>
    statement.isShared ? loaderOf(statement).load(values) : runOnce(statement, values);
}
