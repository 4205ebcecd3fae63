import { setTimeout as sleep } from 'node:timers/promises';

import { expect } from 'vitest';

import { openPostgres } from '../../src/database/postgres.ts';
import type { Log } from '../../src/telemetry/log.ts';
import { type Gateway, startGateway } from './gateway.ts';
import { post } from './post.ts';

/** A gateway whose database has several servers. */
export interface ReplicatedGateway extends Gateway {
  /** What the log says about the servers, without the errors of requests; a test may empty it. */
  readonly messages: string[];
}

/** Starts a gateway with a DATABASE_URL and DATABASE_REPLICA_URLS. */
export async function startReplicatedGateway(
  environment: Record<'DATABASE_URL' | 'DATABASE_REPLICA_URLS', string> & Record<string, string>,
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
    return openPostgres(environment.DATABASE_URL, config, ownLog as Log);
  });
  return { ...gateway, messages };
}

/** A response to an operation, and the headers of it that depend on the servers. */
export interface PositionedAnswer {
  readonly status: number;
  readonly data: any; // oxlint-disable-line typescript/no-explicit-any -- its shape is in the query
  readonly code: string | undefined;
  readonly position: string | null;
  readonly retryAfter: string | null;
  readonly ms: number;
}

/** Posts an operation, with the position of an earlier response if one is given. */
export async function send(
  gateway: { readonly url: string },
  query: string,
  position?: string | null,
): Promise<PositionedAnswer> {
  const start = performance.now();
  const headers = position == null ? {} : { 'Store-Position': position };
  const response = await post(gateway, { query }, { headers });
  const { data, errors } = (await response.json()) as {
    data: unknown;
    errors?: { message: string; extensions: { code: string } }[];
  };
  return {
    status: response.status,
    data,
    code: errors?.[0]?.extensions.code,
    position: response.headers.get('store-position'),
    retryAfter: response.headers.get('retry-after'),
    ms: performance.now() - start,
  };
}

/** Waits as tests here wait: for an event, with a bound. */
export const WAIT = { timeout: 20_000, interval: 20 };

/** Reads that go on until they are stopped. */
export interface Readers {
  /** Waits until `count` more reads have ended. */
  readonly more: (count: number) => Promise<void>;
  /** Returns the number of reads, of which none may have failed. */
  readonly stop: () => Promise<number>;
}

/**
 * Starts `concurrency` callers that each send one read after another, in turns GraphQL and REST. One
 * that takes longer than `maxMs` has failed.
 */
export function startReaders(
  gateway: Gateway,
  query: string,
  { concurrency, path, maxMs }: { concurrency: number; path: string; maxMs: number },
): Readers {
  let ended = 0;
  const failures: unknown[] = [];
  const end = new AbortController();
  const readOnce = async (useRest: boolean): Promise<void> => {
    if (useRest) {
      const response = await fetch(gateway.url + path);
      const body = await response.text();
      if (response.status !== 200) failures.push(body);
    } else {
      const { data, errors } = await gateway.graphql(query);
      if (errors ?? !data) failures.push(errors);
    }
  };
  const readAll = async (_: unknown, index: number): Promise<void> => {
    for (let turn = index; !end.signal.aborted; turn += 1) {
      const start = performance.now();
      await readOnce(turn % 2 === 1).catch((error: unknown) => failures.push(error));
      const ms = performance.now() - start;
      if (ms > maxMs) failures.push(`A read took ${ms} ms.`);
      ended += 1;
      await sleep(5);
    }
  };
  const all = Array.from({ length: concurrency }, readAll);
  return {
    more: async (count) => {
      const before = ended;
      await expect.poll(() => ended, WAIT).toBeGreaterThanOrEqual(before + count);
    },
    stop: async () => {
      end.abort();
      await Promise.all(all);
      expect(failures).toEqual([]);
      return ended;
    },
  };
}
