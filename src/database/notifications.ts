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
  readonly listeners = new Set<() => void>();
  readonly #connect: () => Promise<Client>;
  #client: Promise<Client> | undefined;
  #isClosed = false;

  constructor(connect: () => Promise<Client>) {
    this.#connect = connect;
  }

  /** Whether the connection must be opened because somebody listens. */
  get isMissed(): boolean {
    return this.listeners.size > 0 && !this.#client && !this.#isClosed;
  }

  /** Returns the open connection. `onEnd` is called when it is lost. */
  async open(onEnd: () => void): Promise<Client> {
    if (this.#isClosed) throw new Error('The database is closed.');
    this.#client ??= this.#start(onEnd);
    try {
      return await this.#client;
    } catch (error) {
      this.#client = undefined;
      throw error;
    }
  }

  async #start(onEnd: () => void): Promise<Client> {
    const client = await this.#connect();
    client.on('notification', ({ processId }) => {
      if (processId !== client.processID) this.callListeners();
    });
    client.once('end', () => {
      this.#client = undefined;
      onEnd();
    });
    await run(client, `LISTEN ${CHANNEL}`);
    return client;
  }

  callListeners(): void {
    for (const listener of this.listeners) listener();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.listeners.clear();
    const client = await this.#client?.catch(() => undefined);
    await client?.end();
  }
}

/** Creates the notifications of a process. */
export function createNotifications(connect: () => Promise<Client>, log: Log): Notifications {
  const connection = new NotifyingConnection(connect);
  let isDue = false;
  let isNotifying = false;
  const keepListening = async (): Promise<void> => {
    while (connection.isMissed) {
      try {
        await connection.open(() => void keepListening());
        // Notifications may have been missed.
        connection.callListeners();
      } catch (error) {
        log.debug({ err: error }, 'Notifications of changes cannot be received at the moment.');
        await sleep(RECONNECT_MS, undefined, { ref: false });
      }
    }
  };
  const notifyWhileDue = async (): Promise<void> => {
    isNotifying = true;
    while (isDue) {
      isDue = false;
      try {
        await run(await connection.open(() => void keepListening()), `NOTIFY ${CHANNEL}`);
      } catch (error) {
        log.debug({ err: error }, 'Other gateways could not be notified of changes.');
      }
      await sleep(MIN_INTERVAL_MS, undefined, { ref: false });
    }
    isNotifying = false;
  };
  return {
    listen: (onNotification) => {
      connection.listeners.add(onNotification);
      void keepListening();
      return () => connection.listeners.delete(onNotification);
    },
    notify: () => {
      isDue = true;
      if (!isNotifying) void notifyWhileDue();
    },
    close: () => connection.close(),
  };
}
