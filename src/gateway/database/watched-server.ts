import { setTimeout as sleep } from 'node:timers/promises';

import type { Config } from '../config/config.ts';
import type { Log } from '../telemetry/log.ts';
import { AbandonedStatements } from './abandoned-statements.ts';
import { isRefused, isUnavailable, PoolExhausted, toObstacle } from './database-errors.ts';
import { PostgresServer, type ServerOptions } from './postgres-server.ts';
import { READ } from './session.ts';

const PROBE_TIMEOUT_MS = 2000;
const INTERVAL_MS = 1000;

interface WatchOptions extends Pick<ServerOptions, 'onPrimary' | 'check'> {
  /** What kind of server it is, for the log. */
  readonly kind: string;
  /** Rejects unless the server responds. */
  readonly ping: () => Promise<unknown>;
  /** Checks the connections of the probe, in place of `check`. */
  readonly checkProbe?: ServerOptions['check'];
}

/**
 * A server with its outages in the log: one line when it is lost, one for each other reason why it can't be used then, and
 * one when it responds again.
 */
export class WatchedServer {
  readonly pool: PostgresServer;
  /**
   * A separate connection, to check whether the server responds within two seconds. A busy pool must not make a load
   * balancer remove the gateway, or make the gateway stop using a replica.
   */
  readonly probe: PostgresServer;
  /** Undefined if the server can't be asked about its processes. */
  readonly abandoned: AbandonedStatements | undefined;
  readonly #options: WatchOptions;
  readonly #log: Log;
  readonly #closing = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #isChecking = false;
  /** Why it did not respond to the last check; undefined if it did. */
  #obstacle: string | undefined;

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
    // A load balancer could ask another replica. Behind a pooler, the server processes are not known.
    if (onPrimary && !config.pgbouncer) this.abandoned = new AbandonedStatements(this.probe, log);
    this.pool = new PostgresServer(url, config, log, {
      onLoss: () => void this.check(),
      onPrimary,
      check,
      abandoned: this.abandoned,
    });
  }

  /** Whether it did not respond to the last check. */
  isLost(): boolean {
    return this.#obstacle !== undefined;
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

  /** Checks now, and every second until it is closed. */
  watch(): void {
    void this.check();
    this.#timer = setInterval(() => void this.check(), INTERVAL_MS).unref();
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
        if (this.isLost()) this.#log.warn(`The ${name} responds again, after ${ms} ms.`);
        this.#obstacle = undefined;
      } catch (error) {
        const obstacle = toObstacle(error);
        // Connections are lost in several ways, one after the other.
        const isNews = !this.isLost() || (obstacle !== this.#obstacle && !isUnavailable(error));
        // Many checks at once share one connection.
        if (isNews && !signal.aborted && !(error instanceof PoolExhausted)) {
          this.#obstacle = obstacle;
          this.#log.warn(`Lost the ${name}: ${obstacle}.`);
        }
        await sleep(INTERVAL_MS, undefined, { ref: false, signal }).catch(() => {});
      }
    }
    this.#isChecking = false;
  }

  /** Closes the connections to other servers than this one. */
  closeOthers(kept: string): void {
    for (const one of [this.probe, this.pool]) one.closeOthers(kept);
    void this.abandoned?.check();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#closing.abort();
    this.probe.abort();
    await Promise.all([this.probe.close(), this.pool.close()]);
  }
}
