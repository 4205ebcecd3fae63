import { Client } from 'pg';

import type { Config } from '../config/config.ts';
import { GatewayError } from '../contract/gateway-error.ts';
import { APPLICATION_NAME } from './postgres-server.ts';
import { sessionSql } from './session-settings.ts';
import { onlyRow } from './session.ts';

const TIMEOUT_MS = 2000;

/**
 * Reads the state of a server on a connection of its own, as a busy pool is no reason to remove the gateway from
 * its load balancer. It connects on first use, and again after a failure, or if `shouldReconnect`: a proxy or DNS
 * may lead to another server by now.
 */
export class Probe<State extends object> {
  readonly #url: string;
  readonly #config: Config;
  readonly #sql: string;
  readonly #shouldReconnect: (state: State) => boolean;
  #client: Client | undefined;
  #reading: Promise<State> | undefined;

  constructor(
    url: string,
    config: Config,
    sql: string,
    shouldReconnect: (state: State) => boolean,
  ) {
    this.#url = url;
    this.#config = config;
    this.#sql = sql;
    this.#shouldReconnect = shouldReconnect;
  }

  /**
   * Reads the state; concurrent calls share one statement.
   * @throws GatewayError if the server does not respond within two seconds
   */
  read(): Promise<State> {
    this.#reading ??= this.#readOnce().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  /** Closes its connection, with a statement that may still run. */
  close(): void {
    // Client.end() would wait for a server that may not respond any more.
    this.#client?.connection.stream.destroy();
    this.#client = undefined;
  }

  async #readOnce(): Promise<State> {
    try {
      const client = this.#client ?? (await this.#connect());
      const { rows } = await client.query<State>(this.#sql);
      const state = onlyRow(rows);
      if (this.#shouldReconnect(state)) this.close();
      return state;
    } catch (error) {
      this.close();
      throw new GatewayError('SERVICE_UNAVAILABLE', undefined, error);
    }
  }

  async #connect(): Promise<Client> {
    const client = new Client({
      connectionString: this.#url,
      application_name: APPLICATION_NAME,
      connectionTimeoutMillis: TIMEOUT_MS,
      query_timeout: TIMEOUT_MS,
      keepAlive: true,
    });
    this.#client = client;
    // The connection was lost while it was idle.
    client.on('error', () => {
      if (this.#client === client) this.close();
    });
    await client.connect();
    await client.query(sessionSql(this.#config));
    return client;
  }
}
