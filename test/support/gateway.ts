import type { AddressInfo } from 'node:net';

import { expect } from 'vitest';

import { readConfig } from '../../src/config/config.ts';
import type { Database } from '../../src/database/database.ts';
import type { Log } from '../../src/telemetry/log.ts';
import { createGateway } from '../../src/server/server.ts';
import { openCopy } from './databases.ts';
import { type CheckOf, checkResponse, createCheck, openApiOf } from './documented.ts';
import { post } from './post.ts';

/** One GraphQL error as a caller sees it. */
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

// The tests read answers whose shape the query beside them says.
// oxlint-disable-next-line typescript/no-explicit-any
type Data = any;

export interface GraphqlAnswer {
  status: number;
  data: Data;
  errors: ClientError[] | undefined;
  extensions: Record<string, unknown> | undefined;
}

export interface Gateway {
  readonly url: string;
  readonly db: Database;
  /** The SQL statements since it was last emptied. */
  readonly statements: string[];
  /** What was logged as an error; a test that expects one empties it. */
  readonly loggedErrors: unknown[];
  /** Posts an operation; the answer has no errors unless the caller looks at them. */
  graphql(query: string, variables?: Record<string, unknown>): Promise<GraphqlAnswer>;
  /** Posts an operation that succeeds, and gives its data. */
  data(query: string, variables?: Record<string, unknown>): Promise<Data>;
  /** Makes a request; the answer has to be one that the OpenAPI document declares. */
  rest(path: string, init?: RequestInit): Promise<Response>;
  readonly checkOf: CheckOf;
  /** Stops the server as a signal does; the database stays open. */
  stop(): Promise<void>;
  close(): Promise<void>;
}

const ignore = (): void => {};

/** Opens the database of another gateway; closing it leaves that one its own. */
export const openThatOf =
  ({ db }: Gateway): (() => Promise<Database>) =>
  async () => ({ ...db, close: async () => {} });

/**
 * Starts the real gateway on a free port, over its own copy of the empty database unless another
 * one is given.
 */
export async function startGateway(
  environment: Record<string, string> = {},
  open = openCopy,
): Promise<Gateway> {
  const statements: string[] = [];
  const loggedErrors: unknown[] = [];
  const log: Log = {
    debug: (entry: { sql?: string }) => void (entry.sql && statements.push(entry.sql)),
    info: ignore,
    warn: ignore,
    error: (entry: unknown) => void loggedErrors.push(entry),
    isLevelEnabled: () => true,
  };
  const config = readConfig(environment);
  const db = await open(config, log);
  const { server, stop } = createGateway(db, config, log);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const checkOf = createCheck(openApiOf(config));

  const graphql: Gateway['graphql'] = async (query, variables) => {
    const response = await post({ url }, { query, variables });
    const { data, errors, extensions } = (await response.json()) as GraphqlAnswer;
    return { status: response.status, data, errors, extensions };
  };

  return {
    url,
    db,
    statements,
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
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
      await db.close();
      expect(loggedErrors).toEqual([]);
    },
  };
}
