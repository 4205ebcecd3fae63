import { execFileSync, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

import { buildClientSchema, getIntrospectionQuery, type IntrospectionQuery } from 'graphql';
import { Client } from 'pg';

import { sendEveryOperation } from './every-operation.ts';
import { openEvents } from './live.ts';
import { post, TIMES_UNTIL_COMPILED } from './post.ts';
import { createDatabaseOn, runSql, startPostgres } from './postgres.ts';
import { type RecordedStatement, type SentValue, startRecorder } from './recorder.ts';

/** A statement of a release, and what it returned when it was released. */
export interface ReleasedStatement {
  readonly sql: string;
  readonly values: readonly SentValue[];
  /** The columns of its rows, each a name and a type. */
  readonly columns: readonly string[];
  /** Such as `SELECT 2`, or `error 23503`. */
  readonly result: string;
}

const PATHS = [
  '/ready',
  '/ready?for=writes',
  '/pets/1',
  '/pets/99',
  '/store/orders',
  '/store/orders?limit=2',
  '/store/orders?limit=2&after=1',
];

const CHANGES = /^\s*(insert|update|delete|with|begin|commit|rollback|set|savepoint|release)\b/i;

/** Returns the names of the types of a database by their ids. */
async function readTypeNames(url: string): Promise<Map<unknown, string>> {
  const rows = await runSql(url, 'select oid, typname from pg_type');
  return new Map(rows.map(({ oid, typname }) => [oid, String(typname)]));
}

/** Replaces the ids of types, which are different in each database. */
async function nameTypes(
  url: string,
  statements: readonly RecordedStatement[],
): Promise<ReleasedStatement[]> {
  const types = await readTypeNames(url);
  return statements.map((statement) => ({
    ...statement,
    columns: statement.columns.map(([name, type]) => `${name} ${types.get(type)}`),
  }));
}

/** Leaves out statements that read what has been read already. */
function withoutRepetitions(statements: readonly ReleasedStatement[]): ReleasedStatement[] {
  const seen = new Set<string>();
  return statements.filter(({ sql, values }) => {
    if (CHANGES.test(sql)) return true;
    const text = JSON.stringify([sql, values]);
    if (seen.has(text)) return false;
    seen.add(text);
    return true;
  });
}

interface Release {
  readonly url: string;
  /** Runs at once what it does every few minutes. */
  runPeriodic(): void;
  stop(): Promise<unknown>;
}

const PERIODIC = new URL('run-periodic.js', import.meta.url).href;

async function startRelease(folder: string, url: string): Promise<Release> {
  const env = { DATABASE_URL: url, PORT: '0', POOL_SIZE: '1', STOP_DELAY_MS: '0' };
  const gateway = spawn(process.execPath, ['--import', PERIODIC, 'dist/main.js'], {
    cwd: folder,
    env: { ...env, NODE_ENV: 'production' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const end = new Promise<void>((resolve) => void gateway.once('close', () => resolve()));
  const address = await new Promise<string>((resolve, reject) => {
    void end.then(() => reject(new Error(`The gateway of ${folder} did not start.`)));
    createInterface(gateway.stdout).on('line', (line) => {
      const [, found] = /Listening on (http[^\s"]+)/.exec(line) ?? [];
      if (found !== undefined) resolve(found);
    });
  });
  return {
    url: address,
    runPeriodic: () => void gateway.kill('SIGUSR2'),
    stop: () => {
      gateway.kill();
      return end;
    },
  };
}

/** Returns the data of the first change of a subscription. */
async function receiveOne(url: string, query: string): Promise<unknown> {
  const stream = await openEvents({ url }, query);
  const data: unknown = await stream.data();
  stream.disconnect();
  return data;
}

async function sendAll(url: string): Promise<void> {
  const send = async (query: string): Promise<unknown> => {
    const response = await post({ url }, { query });
    const { data } = (await response.json()) as { data?: unknown };
    if (data == null) throw new Error(`${query} has no data.`);
    return data;
  };
  const introspection = (await send(getIntrospectionQuery())) as IntrospectionQuery;
  await sendEveryOperation(buildClientSchema(introspection), async (query) => {
    if (query.startsWith('subscription')) return receiveOne(url, query);
    const times = query.startsWith('mutation') ? 1 : TIMES_UNTIL_COMPILED + 1;
    let data: unknown;
    for (let time = 0; time < times; time += 1) data = await send(query);
    return data;
  });
  for (const path of PATHS) await (await fetch(url + path)).text();
}

/**
 * Starts the built gateway in `folder` on a new PostgreSQL, which it migrates, sends it every operation,
 * and returns its statements in order.
 */
export async function recordStatements(folder: string): Promise<ReleasedStatement[]> {
  const server = await startPostgres();
  try {
    const url = await createDatabaseOn(server.url);
    const env = { DATABASE_URL: url };
    execFileSync(process.execPath, ['dist/migrate.js'], { cwd: folder, env });
    const recorder = await startRecorder(url);
    const release = await startRelease(folder, recorder.url);
    try {
      await sendAll(release.url);
      const recorded = recorder.recordsNext();
      release.runPeriodic();
      await recorded;
    } finally {
      await release.stop();
      recorder.close();
    }
    return withoutRepetitions(await nameTypes(url, recorder.statements));
  } finally {
    await server.stop();
  }
}

const toParameter = (value: SentValue): Buffer | string | null =>
  typeof value === 'string' || value === null ? value : Buffer.from(value.hex, 'hex');

/** Executes statements on one connection to the database at `url`, and returns them with what they return. */
export async function repeatStatements(
  url: string,
  statements: readonly ReleasedStatement[],
): Promise<ReleasedStatement[]> {
  const recorder = await startRecorder(url);
  const client = new Client({ connectionString: recorder.url });
  await client.connect();
  for (const { sql, values } of statements) {
    // Its error is recorded.
    await client.query(sql, values.map(toParameter)).catch(() => {});
  }
  await client.end();
  recorder.close();
  return nameTypes(url, recorder.statements);
}
