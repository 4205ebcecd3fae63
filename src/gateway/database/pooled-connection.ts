import { Socket } from 'node:net';

import { Client, type ClientBase } from 'pg';

// A prepared statement takes 50 to 100 KiB in its connection's server process, and a long statement up to 150 times its
// length. pg does not deallocate any while the connection is open.
const MAX_PREPARED = 100;
const MAX_PREPARED_LENGTH = 100_000;

/** A connection of a pool: its server, its prepared statements, and whether it is in use. */
export class PooledConnection {
  /** Identifies the server; undefined until the session is set up. */
  identity: string | undefined;
  /** Whether the connection waits in the pool, so that no response is expected. */
  isIdle = false;
  /** The names of the prepared statements, by SQL text. */
  readonly #names = new Map<string, string>();
  #length = 0;

  /**
   * Closes the connection when PostgreSQL does not respond for `silenceMs`. A timer for each statement, such as the
   * `query_timeout` of pg 8, would keep its rows in memory for longer (PostgresServer.#send).
   */
  constructor(client: ClientBase, silenceMs: number) {
    if (!(client instanceof Client)) return;
    const { stream } = client.connection;
    if (!(stream instanceof Socket)) return;
    // A callback passed to setTimeout would be called only once.
    stream.setTimeout(silenceMs).on('timeout', () => {
      if (!this.isIdle) stream.destroy(new Error('Query read timeout'));
    });
  }

  /** Returns the name of a prepared statement. PostgreSQL reuses the plan of a named statement. */
  nameOf(text: string): string {
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    const name = `s${this.#names.size + 1}`;
    this.#names.set(text, name);
    this.#length += text.length;
    return name;
  }

  /** Whether so many statements are prepared that a new connection should replace this one. */
  get isFull(): boolean {
    return this.#names.size >= MAX_PREPARED || this.#length >= MAX_PREPARED_LENGTH;
  }
}
