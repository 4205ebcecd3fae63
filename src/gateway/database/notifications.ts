import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Client } from 'pg';

import type { Log } from '../telemetry/log.ts';

const CHANNEL = 'store_changes';
// PostgreSQL has one lock for all transactions that notify: each write must not be one of them.
const MIN_INTERVAL_MS = 20;
const RECONNECT_MS = 1000;
const LISTEN_TIMEOUT_MS = 5000;

/** Tells the other gateways of a database that there are changes. */
export interface Notifications {
  /**
   * Calls `onNotification` after a notification of another gateway, and whenever some may have been missed;
   * returns the function that ends this.
   */
  readonly listen: (onNotification: () => void) => () => void;
  /** Notifies the others, once for all calls within 20 ms. If that fails, they find the changes later. */
  readonly notify: () => void;
  readonly close: () => Promise<void>;
}

/** Listens on a new connection until it ends, or until the signal closes it. */
async function listenOnce(
  connect: () => Promise<Client>,
  onNotification: (sender?: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const client = await connect();
  const ended = new Promise<void>((resolve) => void client.once('end', () => resolve()));
  const close = (): void => void client.end();
  signal.addEventListener('abort', close);
  try {
    signal.throwIfAborted();
    client.on('notification', ({ payload }) => onNotification(payload));
    const statement = { text: `LISTEN ${CHANNEL}`, query_timeout: LISTEN_TIMEOUT_MS };
    await client.query(statement);
    // Notifications may have been missed.
    onNotification();
    await ended;
  } finally {
    signal.removeEventListener('abort', close);
    await client.end();
  }
}

/**
 * Creates the notifications of a process. It has a connection of its own to listen, while it has listeners,
 * and notifies by `send`.
 */
export function createNotifications(
  connect: () => Promise<Client>,
  send: (sql: string) => Promise<unknown>,
  log: Log,
): Notifications {
  const own = randomUUID();
  const listeners = new Set<() => void>();
  const closing = new AbortController();
  const { signal } = closing;
  let listening: Promise<void> | undefined;
  let isDue = false;
  let isNotifying = false;

  const onNotification = (sender?: string): void => {
    if (sender !== own) for (const listener of listeners) listener();
  };
  const listenWhileNeeded = async (): Promise<void> => {
    while (listeners.size > 0 && !signal.aborted) {
      await listenOnce(connect, onNotification, signal).catch((error: unknown) =>
        log.debug({ err: error }, 'Notifications of changes cannot be received at the moment.'),
      );
      // Rejects only if it is closed.
      await sleep(RECONNECT_MS, undefined, { ref: false, signal }).catch(() => {});
    }
    listening = undefined;
  };
  const notifyWhileDue = async (): Promise<void> => {
    isNotifying = true;
    while (isDue && !signal.aborted) {
      isDue = false;
      await send(`NOTIFY ${CHANNEL}, '${own}'`).catch((error: unknown) =>
        log.debug({ err: error }, 'Other gateways could not be notified of changes.'),
      );
      await sleep(MIN_INTERVAL_MS, undefined, { ref: false });
    }
    isNotifying = false;
  };

  return {
    listen: (listener) => {
      listeners.add(listener);
      listening ??= listenWhileNeeded();
      return () => listeners.delete(listener);
    },
    notify: () => {
      isDue = true;
      if (!isNotifying) void notifyWhileDue();
    },
    close: async () => {
      closing.abort();
      await listening;
    },
  };
}
