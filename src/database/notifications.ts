import { setTimeout as sleep } from 'node:timers/promises';

import type { Client } from 'pg';

import type { Log } from '../telemetry/log.ts';

declare module 'pg' {
  interface Client {
    /** The id of the process of PostgreSQL that serves this connection. */
    readonly processID: number | null;
  }
}

const CHANNEL = 'store_changes';
// PostgreSQL has one lock for all transactions that notify: each write must not be one of them.
const MIN_INTERVAL_MS = 20;
const RECONNECT_MS = 1000;
const QUERY_TIMEOUT_MS = 5000;

/** Tells the other gateways of a database that there are changes. */
export interface Notifications {
  /**
   * Calls `onNotification` after a notification of another gateway, and after the connection was lost and
   * opened again; returns the function that ends this.
   */
  readonly listen: (onNotification: () => void) => () => void;
  /** Notifies the others, once for all calls within 20 ms. If that fails, they find the changes later. */
  readonly notify: () => void;
  readonly close: () => Promise<void>;
}

/** Runs a statement on a connection, which is closed if that fails. */
async function run(client: Client, text: string): Promise<void> {
  const statement = { text, query_timeout: QUERY_TIMEOUT_MS };
  try {
    await client.query(statement);
  } catch (error) {
    await client.end();
    throw error;
  }
}

/** The connection that a process listens and notifies on. It is opened when it is needed. */
class NotifyingConnection {
  readonly #listeners = new Set<() => void>();
  readonly #connect: () => Promise<Client>;
  readonly #log: Log;
  readonly #closing = new AbortController();
  #client: Promise<Client> | undefined;
  #isOpening = false;
  #triedAt = -RECONNECT_MS;

  constructor(connect: () => Promise<Client>, log: Log) {
    this.#connect = connect;
    this.#log = log;
  }

  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    void this.#keepOpen();
    return () => this.#listeners.delete(listener);
  }

  /** Returns the connection. If need be it is opened, a second after the last attempt at the earliest. */
  async open(): Promise<Client> {
    this.#closing.signal.throwIfAborted();
    this.#client ??= this.#start();
    return this.#client;
  }

  async #start(): Promise<Client> {
    try {
      const client = await this.#connectAndListen();
      // Not earlier: each connection is forgotten only once, so never in place of a newer one.
      client.once('end', () => this.#forget());
      // Notifications may have been missed.
      this.#callListeners();
      return client;
    } catch (error) {
      this.#forget();
      throw error;
    }
  }

  #forget(): void {
    this.#client = undefined;
    void this.#keepOpen();
  }

  async #connectAndListen(): Promise<Client> {
    const { signal } = this.#closing;
    const pauseMs = this.#triedAt + RECONNECT_MS - performance.now();
    if (pauseMs > 0) await sleep(pauseMs, undefined, { ref: false, signal });
    try {
      const client = await this.#connect();
      client.on('notification', ({ processId }) => {
        if (processId !== client.processID) this.#callListeners();
      });
      await run(client, `LISTEN ${CHANNEL}`);
      return client;
    } finally {
      this.#triedAt = performance.now();
    }
  }

  /** Opens the connection while it is missing and somebody listens. */
  async #keepOpen(): Promise<void> {
    if (this.#isOpening) return;
    this.#isOpening = true;
    while (this.#listeners.size > 0 && !this.#client && !this.#closing.signal.aborted) {
      try {
        await this.open();
      } catch (error) {
        this.#log.debug(
          { err: error },
          'Notifications of changes cannot be received at the moment.',
        );
      }
    }
    this.#isOpening = false;
  }

  #callListeners(): void {
    for (const listener of this.#listeners) listener();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#listeners.clear();
    const client = await this.#client?.catch(() => undefined);
    await client?.end();
  }
}

/** Creates the notifications of a process. */
export function createNotifications(connect: () => Promise<Client>, log: Log): Notifications {
  const connection = new NotifyingConnection(connect, log);
  let isDue = false;
  let isNotifying = false;
  const notifyWhileDue = async (): Promise<void> => {
    isNotifying = true;
    while (isDue) {
      isDue = false;
      try {
        await run(await connection.open(), `NOTIFY ${CHANNEL}`);
      } catch (error) {
        log.debug({ err: error }, 'Other gateways could not be notified of changes.');
      }
      await sleep(MIN_INTERVAL_MS, undefined, { ref: false });
    }
    isNotifying = false;
  };
  return {
    listen: (onNotification) => connection.listen(onNotification),
    notify: () => {
      isDue = true;
      if (!isNotifying) void notifyWhileDue();
    },
    close: () => connection.close(),
  };
}
