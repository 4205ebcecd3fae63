import { connect, Socket } from 'node:net';

import type { PoolClient } from 'pg';
import { z } from 'zod';

import type { Log } from '../telemetry/log.ts';
import type { Recipient } from './recipient.ts';

// https://www.postgresql.org/docs/current/protocol-message-formats.html, CancelRequest
const BYTES = 16;
const CODE = 80_877_102;
// PostgreSQL closes the connection immediately, a pooler when it has passed the request on.
const TIMEOUT_MS = 60_000;

// A shorter statement ends by itself. To cancel it would cost more than the rest of it, as its connection is
// closed then.
const CHECK_MS = 100;

// What PostgreSQL, or a pooler, sends at the start of a connection: pg 8.23 keeps it, but its types don't say so.
const BackendKey = z.object({ processID: z.int32(), secretKey: z.int32() });

/**
 * Asks PostgreSQL, or a pooler, to cancel the statement that a connection runs, over a second connection.
 * It may fail, or be carried out after the end of the statement: close the connection when it has ended.
 */
function cancelStatement(client: PoolClient, log: Log): void {
  const { stream } = client.connection;
  const key = BackendKey.safeParse(client).data;
  if (!key || !(stream instanceof Socket)) return log.warn('A statement could not be cancelled.');
  const request = Buffer.alloc(BYTES);
  [BYTES, CODE, key.processID, key.secretKey].forEach((value, index) => {
    request.writeInt32BE(value, 4 * index);
  });
  // The address, as its name may lead to another server by now.
  const { remoteAddress: host, remotePort: port } = stream;
  const path = `${client.host}/.s.PGSQL.${client.port}`;
  const socket = connect(host !== undefined && port !== undefined ? { host, port } : { path });
  socket
    .unref()
    .setTimeout(TIMEOUT_MS, () => socket.destroy())
    .on('error', (error) => log.warn({ err: error }, 'A statement could not be cancelled.'))
    // Not `end`: if its client closes first, PgBouncer 1.18 stops with a fatal error.
    .write(request);
}

/** Cancels the statement that a connection runs, once, when its recipient is destroyed; not in its first 100 ms. */
export function cancelWhenGone(client: PoolClient, recipient: Recipient, log: Log) {
  let wasRequested = false;
  const timer = setInterval(() => {
    if (!recipient.destroyed) return;
    clearInterval(timer);
    wasRequested = true;
    cancelStatement(client, log);
  }, CHECK_MS);
  return {
    /** Whether the statement was to be cancelled: then the connection can't be used again. */
    wasRequested: () => wasRequested,
    stop: () => clearInterval(timer),
  };
}
