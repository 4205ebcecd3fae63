import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, Socket } from 'node:net';

import { Client, Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { isConnectionLost, isUnavailable } from '../../../src/gateway/database/database-errors.ts';
import { copyOnPostgres } from '../../support/databases.ts';

let url: string;
let drop: () => Promise<void>;
/** A server that accepts connections and never responds. */
let silent: Server;
let silentUrl: string;
beforeAll(async () => {
  ({ url, drop } = await copyOnPostgres());
  silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  silentUrl = `postgres://127.0.0.1:${(silent.address() as AddressInfo).port}/none`;
});
afterAll(async () => {
  silent.close();
  await drop();
});

const TIMEOUT_MS = 20;

async function connect(): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  return client;
}

/** Returns the error with which a promise rejects. */
const errorOf = (failing: Promise<unknown>): Promise<unknown> =>
  failing.then(
    () => undefined,
    (error: unknown) => error,
  );

/** The failures that pg reports only with a message. */
const FAILURES: readonly [what: string, isLost: boolean, fail: () => Promise<unknown>][] = [
  [
    'a connection that is lost while a statement runs',
    true,
    async () => {
      const client = await connect();
      const failing = errorOf(client.query('select pg_sleep(10)'));
      client.connection.stream.destroy();
      return failing;
    },
  ],
  [
    'a statement on a connection that was lost before',
    true,
    async () => {
      const client = await connect();
      client.connection.stream.destroy(new Error('It is lost.'));
      await new Promise<void>((resolve) => void client.once('end', resolve));
      return errorOf(client.query('select 1'));
    },
  ],
  [
    'a statement that gets no response in time',
    true,
    async () => {
      const client = await connect();
      const sleep = { text: 'select pg_sleep(10)', query_timeout: TIMEOUT_MS };
      const error = await errorOf(client.query(sleep));
      client.connection.stream.destroy();
      return error;
    },
  ],
  [
    'a connection from a pool to a server that does not respond',
    true,
    async () => {
      const settings = { connectionString: silentUrl, connectionTimeoutMillis: TIMEOUT_MS };
      return errorOf(new Pool(settings).connect());
    },
  ],
  [
    'a connection without a pool to a server that does not respond',
    false,
    async () => {
      const settings = { connectionString: silentUrl, connectionTimeoutMillis: TIMEOUT_MS };
      return errorOf(new Client(settings).connect());
    },
  ],
  [
    'a pool whose connections are all in use',
    false,
    async () => {
      const settings = { connectionString: url, max: 1, connectionTimeoutMillis: 1000 };
      const pool = new Pool(settings);
      const client = await pool.connect();
      const error = await errorOf(pool.connect());
      client.release();
      await pool.end();
      return error;
    },
  ],
];

describe('a pg error that has only a message', () => {
  it.each(FAILURES)(
    'is recognized as a temporary failure: %s (a lost connection: %s)',
    async (_what, isLost, fail) => {
      const error = await fail();
      expect(error).toBeInstanceOf(Error);
      expect(error).not.toHaveProperty('code');
      expect({ isUnavailable: isUnavailable(error), isLost: isConnectionLost(error) }).toEqual({
        isUnavailable: true,
        isLost,
      });
    },
  );
});

it('a pg connection exposes its socket', async () => {
  const client = await connect();
  expect(client.connection.stream).toBeInstanceOf(Socket);
  await client.end();
});
