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

/** Runs a statement once for all requests with these values. Equal requests are one for PostgreSQL. */
async function runShared(
  { db, observeBatch }: Store,
  { text, planning, load }: StatementText,
  requests: readonly (readonly unknown[])[],
): Promise<string[]> {
  observeBatch('statement', requests.length);
  const keys = requests.map((values) => values.join('\n'));
  const distinct = new Map(requests.map((values, index) => [keys[index] ?? '', values]));
  const [first = []] = requests;
  const arrays = first.map((_value, index) =>
    [...distinct.values()].map((values) => values[index]),
  );
  const rows = await db.query<Row>({ text, values: arrays }, planning, load);
  const jsonOf = new Map(rows.map(({ number, json }) => [number, json]));
  const numberOf = new Map([...distinct.keys()].map((key, index) => [key, index + 1]));
  return keys.map((key) => jsonOf.get(numberOf.get(key) ?? 0) ?? '');
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
  return async ({ statement, values }) => {
    if (statement.isShared) return loaderOf(statement).load(values);
    const { text, planning, load } = statement;
    const [row] = await store.db.query<Row>({ text, values: [...values] }, planning, load);
    return row?.json ?? '';
  };
}
