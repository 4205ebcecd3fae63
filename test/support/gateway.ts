import { raw } from 'sql-template-tag';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';

import { type Config, type Limits, readConfig } from '../../src/gateway/config/config.ts';
import type { Database } from '../../src/gateway/database/database.ts';
import { openPostgres } from '../../src/gateway/database/postgres.ts';
import { fillSample, openDatabaseOf } from '../../src/gateway/server/serve.ts';
import { createGateway } from '../../src/gateway/server/server.ts';
import type { Store } from '../../src/gateway/store.ts';
import type { Log } from '../../src/gateway/telemetry/log.ts';
import { petStore } from '../../src/store/index.ts';
import { MIGRATIONS } from '../../src/store/migrations.ts';
import { describeOnDatabases, openCopy, type TestDatabase } from './databases.ts';
import { type CheckOf, checkResponse, createCheck, openApiOf } from './documented.ts';
import { closeServer, listen } from './listen.ts';
import { type Data, post, postForJson, TIMES_UNTIL_COMPILED } from './post.ts';

export type { Data };

/** A GraphQL error as a caller receives it. */
export interface ClientError {
  message: string;
  path?: (string | number)[];
  locations?: { line: number; column: number }[];
  extensions: {
    code: string;
    status: number;
    issues?: { path: string[]; message: string }[];
  };
}

export interface GraphqlResponse {
  status: number;
  data: Data;
  errors: ClientError[] | undefined;
  extensions: Record<string, unknown> | undefined;
}

// What a write needs besides its statements.
const NOT_COUNTED = /^(?:BEGIN|COMMIT|NOTIFY)/;

export interface Gateway {
  readonly url: string;
  readonly db: Database;
  /** The URL of its database; empty if that is embedded, or not a copy. */
  readonly databaseUrl: string;
  /** The SQL statements so far, without BEGIN, COMMIT and NOTIFY; a test may empty this list. */
  readonly statements: string[];
  /** The lines in the log at level info. */
  readonly loggedLines: unknown[];
  readonly loggedWarnings: unknown[];
  /** The errors in the log; a test that expects errors must remove them, or else close() fails. */
  readonly loggedErrors: unknown[];
  /** Posts an operation and returns the response, which may have errors. */
  graphql(query: string, variables?: Record<string, unknown>): Promise<GraphqlResponse>;
  data(query: string, variables?: Record<string, unknown>): Promise<Data>;
  /** Sends a request; the response must be one that the OpenAPI document declares. */
  rest(path: string, init?: RequestInit): Promise<Response>;
  readonly checkOf: CheckOf;
  /** Stops the server as a signal does, but does not close the database. */
  stop(): Promise<void>;
  close(): Promise<void>;
}

export type OpenDatabase = (config: Config, log: Log) => Promise<TestDatabase>;

/** Returns a function that opens the pet store at a URL, or at that of a store, which may not exist yet. */
export const openAt =
  (at: string | { readonly url: string }): OpenDatabase =>
  (config, log) =>
    openPostgres(MIGRATIONS, typeof at === 'string' ? at : at.url, config, log);

/** Returns a function that opens the database of another gateway, and does not close it. */
export const openThatOf =
  ({ db }: Gateway): OpenDatabase =>
  async () => ({ ...db, close: async () => {} });

/** Returns how to open the database that variables name, as the program does: it is migrated, checked and filled. */
const openNamed = (environment: Record<string, string>, store: Store): OpenDatabase =>
  'DATABASE_URL' in environment || 'DATA_DIR' in environment
    ? (config, log) => openDatabaseOf(store, config, log)
    : openCopy;

/**
 * Starts a gateway in this process, on a free port. Its database is that of DATABASE_URL or DATA_DIR, or else a copy of
 * the empty one, unless `open` opens another; with SAMPLE_STORE=true, it is filled with the sample store. `limits` replaces
 * limits, including those that are not settings. It serves the pet store, unless `store` is another.
 */
export async function startGateway(
  environment: Record<string, string> = {},
  open?: OpenDatabase,
  limits: Partial<Limits> = {},
  store: Store = petStore,
): Promise<Gateway> {
  const statements: string[] = [];
  const loggedLines: unknown[] = [];
  const loggedWarnings: unknown[] = [];
  const loggedErrors: unknown[] = [];
  const countSql = ({ sql }: { sql?: string }): void => {
    if (sql !== undefined && !NOT_COUNTED.test(sql)) statements.push(sql);
  };
  const log: Log = {
    debug: countSql,
    info: (entry: unknown) => void loggedLines.push(entry),
    warn: (entry: unknown) => {
      loggedWarnings.push(entry);
      // On a busy machine, a statement may be slow.
      countSql(Object(entry));
    },
    error: (entry: unknown) => void loggedErrors.push(entry),
    isLevelEnabled: () => true,
  };
  const configured = readConfig(environment);
  // On a busy machine, new documents wait for longer.
  const patient = { ...configured.limits, maxDocumentWaitMs: 60_000 };
  const config = { ...configured, limits: { ...patient, ...limits } };
  const db = await (open ?? openNamed(environment, store))(config, log);
  if (environment['SAMPLE_STORE'] === 'true') await fillSample(db, store);
  const { server, stop } = await createGateway(store, db, config, log);
  const url = await listen(server);

  const checkOf = createCheck(openApiOf(environment));

  const graphql: Gateway['graphql'] = async (query, variables) => {
    const { status, body } = await postForJson({ url }, { query, variables });
    const { data, errors, extensions } = body as GraphqlResponse;
    return { status, data, errors, extensions };
  };

  return {
    url,
    db,
    databaseUrl: db.url ?? '',
    statements,
    loggedLines,
    loggedWarnings,
    loggedErrors,
    graphql,
    data: async (query, variables) => {
      const { data, errors } = await graphql(query, variables);
      expect(errors).toBeUndefined();
      return data;
    },
    rest: async (path, init) => {
      const response = await fetch(url + path, init);
      const check = checkOf(init?.method ?? 'GET', path);
      return check ? checkResponse(response, check) : response;
    },
    checkOf,
    stop,
    close: async () => {
      await closeServer(server);
      await db.close();
      expect(loggedErrors).toEqual([]);
    },
  };
}

/** Returns the warnings that a gateway has logged, except those about slow statements, which have fields. */
export const warningsOf = ({ loggedWarnings }: Gateway): string[] =>
  loggedWarnings.filter((entry) => typeof entry === 'string');

/** Returns what /ready reports, for reads and for writes. */
export async function readinessOf(of: Gateway): Promise<unknown[]> {
  const [any, forWrites] = [await of.rest('/ready'), await of.rest('/ready?for=writes')];
  const { writes } = (await any.json()) as { writes?: boolean };
  return [any.status, writes, forWrites.status];
}

/** The gateway of the tests that `useGateway` or `describeOnGateways` provides. */
export let gateway: Gateway;

/** Posts an operation with headers; returns the result, and the headers of the response. */
export async function postOperation(
  to: { readonly url: string },
  params: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<GraphqlResponse & { headers: Headers }> {
  const response = await post(to, params, { headers });
  const { data, errors, extensions } = (await response.json()) as GraphqlResponse;
  return { status: response.status, data, errors, extensions, headers: response.headers };
}

/** Returns how many statements of `gateway` were for several orders that arrived at the same time. */
export const countShared = (): number =>
  gateway.statements.filter((text) => text.includes('skip locked')).length;

/** Runs SQL on the database of `gateway`, and returns the rows. */
export const run = (text: string): Promise<Data[]> => gateway.db.write(raw(text));

export function useGateway(...args: Parameters<typeof startGateway>): void {
  beforeAll(async () => {
    gateway = await startGateway(...args);
  });
  afterAll(() => gateway.close());
}

/** Starts another gateway for these tests, on the database of `gateway`. */
export function useOther(
  environment: Record<string, string>,
  limits?: Partial<Limits>,
  store?: Store,
): Gateway {
  const other = {} as Gateway;
  beforeAll(async () => {
    Object.assign(other, await startGateway(environment, openThatOf(gateway), limits, store));
  });
  afterAll(() => other.close());
  return other;
}

/** Starts another gateway on the database of `gateway`, until the test ends. */
export async function startOther(
  environment: Record<string, string>,
  limits?: Partial<Limits>,
  store?: Store,
): Promise<Gateway> {
  const other = await startGateway(environment, openThatOf(gateway), limits, store);
  onTestFinished(() => other.close());
  return other;
}

/** Expects the same data from graphql-js and from the compiled query. Returns how many statements that sent. */
export async function expectData(query: string, data: object, variables?: Record<string, unknown>) {
  for (let time = 0; time <= TIMES_UNTIL_COMPILED; time += 1) {
    gateway.statements.length = 0;
    expect(await gateway.data(query, variables)).toEqual(data);
  }
  return gateway.statements.length;
}

/** Declares tests that run on each database of the current Vitest project, with a gateway on it. */
export function describeOnGateways(declareTests: () => void): void {
  describeOnDatabases(() => {
    useGateway();
    declareTests();
  });
}
