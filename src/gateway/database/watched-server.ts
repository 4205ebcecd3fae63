import { setTimeout as sleep } from 'node:timers/promises';

import type { Config } from '../config/config.ts';
import type { Log } from '../telemetry/log.ts';
import type { FindRunning } from './abandoned-statements.ts';
import { isRefused, PoolExhausted, toObstacle } from './database-errors.ts';
import { PostgresServer, READ, type ServerOptions } from './postgres-server.ts';

const PROBE_TIMEOUT_MS = 2000;
const INTERVAL_MS = 1000;

const RUNNING_SQL = `SELECT pid, coalesce(wait_event, 'nothing') AS wait FROM pg_stat_activity
  WHERE pid = ANY($1) AND state NOT LIKE 'idle%'`;

interface WatchOptions extends Pick<ServerOptions, 'onPrimary' | 'check'> {
  /** What kind of server it is, for the log. */
  readonly kind: string;
  /** Rejects unless the server responds. */
  readonly ping: () => Promise<unknown>;
  /** Checks the connections of the probe, in place of `check`. */
  readonly checkProbe?: ServerOptions['check'];
}

/** A server with its outages in the log: one line when it is lost, and one when it responds again. */
export class WatchedServer {
  readonly pool: PostgresServer;
  /**
   * A separate connection, to check whether the server responds within two seconds. A busy pool must not make a load
   * balancer remove the gateway, or make the gateway stop using a replica.
   */
  readonly probe: PostgresServer;
  readonly #options: WatchOptions;
  readonly #log: Log;
  readonly #closing = new AbortController();
  #isChecking = false;
  #isLost = false;

  constructor(url: string, config: Config, log: Log, options: WatchOptions) {
    const { onPrimary, check, checkProbe = check } = options;
    this.#options = options;
    this.#log = log;
    const limits = {
      poolSize: 1,
      connectTimeoutMs: PROBE_TIMEOUT_MS,
      statementTimeoutMs: PROBE_TIMEOUT_MS,
    };
    this.probe = new PostgresServer(url, { ...config, ...limits }, log, {
      graceMs: 0,
      onPrimary,
      check: checkProbe,
    });
    this.pool = new PostgresServer(url, config, log, {
      onLoss: () => void this.check(),
      onPrimary,
      check,
      // A load balancer could ask another replica.
      findRunning: onPrimary && this.#findRunning,
    });
  }

  /** Whether it did not respond to the last check. */
  isLost(): boolean {
    return this.#isLost;
  }

  /**
   * Runs a statement on the probe's connection, or, if the server allows no connection for the probe, on one of the
   * pool's.
   */
  ask<Row>(text: string): Promise<Row[]> {
    return this.probe.run<Row>(text, [], READ).catch((error: unknown) => {
      if (isRefused(error)) return this.pool.run<Row>(text, [], READ);
      throw error;
    });
  }

  /** Checks until the server responds. To be called when a connection is lost, which can also have other reasons. */
  async check(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    const { signal } = this.#closing;
    const name = `${this.#options.kind} ${this.pool.name}`;
    const start = performance.now();
    for (let responds = false; !responds && !signal.aborted;) {
      try {
        await this.#options.ping();
        responds = true;
        const ms = Math.round(performance.now() - start);
        if (this.#isLost) this.#log.warn(`The ${name} responds again, after ${ms} ms.`);
        this.#isLost = false;
      } catch (error) {
        // Many checks at once share one connection.
        if (!this.#isLost && !signal.aborted && !(error instanceof PoolExhausted)) {
          this.#isLost = true;
          this.#log.warn(`Lost the ${name}: ${toObstacle(error)}.`);
        }
        await sleep(INTERVAL_MS, undefined, { ref: false, signal }).catch(() => {});
      }
    }
    this.#isChecking = false;
  }

  /** Closes the connections to other servers than this one. */
  closeOthers(kept: string): void {
    for (const one of [this.probe, this.pool]) one.closeOthers(kept);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.probe.abort();
    await Promise.all([this.probe.close(), this.pool.close()]);
  }

  readonly #findRunning: FindRunning = async (pids) => {
    try {
      const found = await this.probe.run<{ pid: number; wait: string }>(RUNNING_SQL, [pids], READ);
      return new Map(found.map(({ pid, wait }) => [pid, wait]));
    } catch (error) {
      // A server that allows no more connections responds, so its processes have not gone.
      if (isRefused(error)) return new Map(pids.map((pid) => [pid, 'nothing']));
      throw error;
    }
  };
}
