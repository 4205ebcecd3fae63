import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Client } from 'pg';

import type { Log } from '../telemetry/log.ts';

const CHANNEL = 'store_changes';
// Transactions that notify are serialized by a global lock in PostgreSQL. So notifications are not sent in the
// transactions that write, and each process sends at most one per interval.
const MIN_INTERVAL_MS = 20;
const RECONNECT_MS = 1000;
const LISTEN_TIMEOUT_MS = 5000;

/** Tells the other processes that use the same database that there are changes. */
export type Notifications = ReturnType<typeof createNotifications>;

async function listenOn(client: Client, onNotification: (sender?: string) => void): Promise<void> {
  const ended = new Promise<void>((resolve) => void client.once('end', resolve));
  try {
    client.on('notification', ({ payload }) => onNotification(payload));
    const statement = { text: `LISTEN ${CHANNEL}`, query_timeout: LISTEN_TIMEOUT_MS };
    await client.query(statement);
    // Notifications may have been missed before this connection listened.
    onNotification();
    await ended;
  } finally {
    await client.end();
  }
}

/** Creates the notifications of a process; `send` runs NOTIFY. The first `listen` opens a separate connection. */
export function createNotifications(
  connect: () => Promise<Client>,
  send: (sql: string) => Promise<unknown>,
  log: Log,
) {
  const own = randomUUID();
  const closing = new AbortController();
  const { signal } = closing;
  let client: Client | undefined;
  let listening: Promise<void> | undefined;
  let isDue = false;
  let isNotifying = false;

  const listenUntilClosed = async (onNotification: () => void): Promise<void> => {
    while (!signal.aborted) {
      try {
        client = await connect();
        if (signal.aborted) await client.end();
        else await listenOn(client, (sender) => void (sender !== own && onNotification()));
      } catch (error) {
        log.debug({ err: error }, 'Change notifications cannot be received at the moment.');
      }
      // `sleep` rejects only when the notifications are closed.
      await sleep(RECONNECT_MS, undefined, { ref: false, signal }).catch(() => {});
    }
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
    /**
     * Calls `onNotification` after each notification from another process, and whenever notifications may have been
     * missed. Only the function of the first call is used.
     */
    listen: (onNotification: () => void): void => {
      listening ??= listenUntilClosed(onNotification);
    },
    /** Notifies other processes once for all calls within 20 ms. If that fails, they find the changes by polling. */
    notify: (): void => {
      isDue = true;
      if (!isNotifying) void notifyWhileDue();
    },
    close: async (): Promise<void> => {
      closing.abort();
      // A server that is frozen would never end the connection.
      client?.connection.stream.destroy();
      await listening;
    },
  };
}
