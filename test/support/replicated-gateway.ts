import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import { expect, onTestFinished } from 'vitest';

import { openPostgres } from '../../src/gateway/database/postgres.ts';
import type { Log } from '../../src/gateway/telemetry/log.ts';
import { MIGRATIONS } from '../../src/store/migrations.ts';
import { type Gateway, postOperation, startGateway } from './gateway.ts';
import { runSql } from './postgres.ts';

/** A gateway whose database has a primary and replicas. */
export interface ReplicatedGateway extends Gateway {
  /** The log messages about the servers, without errors of requests; a test may remove them. */
  readonly messages: string[];
}

/** Starts a gateway with a DATABASE_URL and usually a DATABASE_REPLICA_URL. */
export async function startReplicatedGateway(
  environment: Record<'DATABASE_URL', string> & Record<string, string>,
): Promise<ReplicatedGateway> {
  const messages: string[] = [];
  const add = (entry: unknown, message?: string): void =>
    void messages.push(message ?? String(entry));
  const gateway = await startGateway(environment, (config, log) => {
    const ownLog = {
      debug: log.debug,
      info: add,
      warn: add,
      error: add,
      isLevelEnabled: () => true,
    };
    return openPostgres(MIGRATIONS, environment.DATABASE_URL, config, ownLog as Log);
  });
  return { ...gateway, messages };
}

interface Target {
  readonly url: string;
}

/** Posts an operation, with the position of an earlier response if one is given. */
export async function send(gateway: Target, query: string, position?: string | null) {
  const start = performance.now();
  const sent = position == null ? {} : { 'Store-Position': position };
  const { status, data, errors, headers } = await postOperation(gateway, { query }, sent);
  return {
    status,
    data,
    code: errors?.[0]?.extensions.code,
    position: headers.get('store-position'),
    retryAfter: headers.get('retry-after'),
    ms: performance.now() - start,
  };
}

// The gateway gives up on a statement one second after STATEMENT_TIMEOUT_MS. It stops using a replica that has not
// responded for two seconds, and stops waiting for a new connection after five seconds.
const MAX_MS = 8000;

/** Callers that continue until they are stopped. */
interface Callers {
  /** Waits until `count` more of their calls have ended. */
  more(count: number): Promise<void>;
  stop(): Promise<void>;
}

/** Starts callers that each make one call at a time. stop() fails if `faults` is not empty. */
function startCallers(
  concurrency: number,
  faults: unknown[],
  call: (caller: number, turn: number) => Promise<void>,
): Callers {
  let ended = 0;
  const end = new AbortController();
  // If callers continued after the test failed, the gateway could not be closed.
  onTestFinished(() => end.abort());
  const callAgain = async (_: unknown, caller: number): Promise<void> => {
    for (let turn = 0; !end.signal.aborted; turn += 1) {
      await call(caller, turn);
      ended += 1;
    }
  };
  const all = Array.from({ length: concurrency }, callAgain);
  return {
    more: async (count) => {
      const before = ended;
      await expect.poll(() => ended).toBeGreaterThanOrEqual(before + count);
    },
    stop: async () => {
      end.abort();
      await Promise.all(all);
      expect(faults).toEqual([]);
    },
  };
}

/** Starts callers that read, alternating between GraphQL and REST. No call may fail, or take longer than MAX_MS. */
export function startReaders(
  gateway: Target,
  query: string,
  { concurrency, path }: { concurrency: number; path: string },
): Callers {
  const faults: unknown[] = [];
  const readOnce = async (useRest: boolean): Promise<void> => {
    if (useRest) {
      const response = await fetch(gateway.url + path);
      const body = await response.text();
      if (response.status !== 200) faults.push(body);
    } else {
      const { data, code } = await send(gateway, query);
      if (code !== undefined || !data) faults.push({ code, data });
    }
  };
  return startCallers(concurrency, faults, async (caller, turn) => {
    const start = performance.now();
    await readOnce((caller + turn) % 2 === 1).catch((error: unknown) => faults.push(error));
    const ms = performance.now() - start;
    if (ms > MAX_MS) faults.push(`A read took ${ms} ms.`);
    await sleep(5);
  });
}

const order = (petId: string, key: string, quantity = 1): string =>
  `mutation { placeOrder(input: { petId: "${petId}", quantity: ${quantity} }, idempotencyKey: "${key}") {
    ... on Order { id } ... on Error { code } } }`;

export interface Writers extends Callers {
  /** The ids of the orders that were acknowledged, one for each key. */
  readonly ids: readonly string[];
  /** When each was acknowledged, as in `performance.now()`. */
  readonly times: readonly number[];
}

interface WritersOptions {
  readonly concurrency: number;
  readonly quantity?: number;
  /** Whether a failover may lose acknowledged orders, so that nothing is expected of them. */
  readonly mayLose?: boolean;
}

/**
 * Starts callers that each order a number of units, and repeat the order with its key until it is acknowledged. Then a
 * read with the position of the response must return the order.
 */
export function startWriters(
  gateway: Target,
  petId: string,
  { concurrency, quantity = 1, mayLose = false }: WritersOptions,
): Writers {
  const ids: string[] = [];
  const times: number[] = [];
  const prefix = randomUUID();
  const faults: unknown[] = [];
  const expectSeen = async (id: string, position: string): Promise<void> => {
    for (;;) {
      const seen = await send(gateway, `{ order(id: "${id}") { id } }`, position);
      if (seen.data?.order?.id === id) return;
      // The primary may have been lost right after the response.
      if (seen.retryAfter !== '1') return void faults.push({ id, seen });
      await sleep(20);
    }
  };
  const place = async (key: string): Promise<void> => {
    for (;;) {
      const response = await send(gateway, order(petId, key, quantity));
      const { data, code, retryAfter, ms, position } = response;
      if (ms > MAX_MS) faults.push(`A mutation took ${ms} ms.`);
      const id = data?.placeOrder?.id;
      if (id) {
        ids.push(id);
        times.push(performance.now());
        // Without a DATABASE_REPLICA_URL, there is no position.
        return position === null || mayLose ? undefined : expectSeen(id, position);
      }
      const mayRepeat =
        (code === 'SERVICE_UNAVAILABLE' && retryAfter === '1') || code === 'OUTCOME_UNKNOWN';
      if (!mayRepeat) faults.push({ code, retryAfter, data });
      await sleep(20);
    }
  };
  const callers = startCallers(concurrency, faults, (caller, turn) =>
    place(`${prefix}-${caller}-${turn}`),
  );
  return { ...callers, ids, times };
}

/** Returns the ids of the orders in a database that meet a condition. */
export async function ordersOf(url: string, where = 'true'): Promise<Set<unknown>> {
  const rows = await runSql(url, `select id::text from orders where ${where}`);
  return new Set(rows.map(({ id }) => id));
}

export async function expectLogged(
  { messages }: ReplicatedGateway,
  line: RegExp | string,
): Promise<void> {
  await expect.poll(() => messages).toContainEqual(expect.stringMatching(line));
}
