import { Socket } from 'node:net';

import type { Client } from 'pg';

// A prepared statement takes 50 to 100 KiB in its connection's server process, and a long statement up to 150 times its
// length. pg does not deallocate any while the connection is open.
const MAX_PREPARED = 100;
const MAX_PREPARED_LENGTH = 100_000;

/**
 * Sets how long a connection may be silent in both directions before it is closed; 0 means forever. The `query_timeout`
 * of pg 8 would keep the rows of each result in memory for longer (PostgresServer.#send).
 */
export function limitSilence(
  { connection: { stream } }: Pick<Client, 'connection'>,
  ms: number,
): void {
  if (stream instanceof Socket) stream.setTimeout(ms);
}

/** What is known about a connection in a pool: its server and its prepared statements. */
export class PooledConnection {
  /** Identifies the server; undefined until the session is set up. */
  identity: string | undefined;
  /** The names of the prepared statements, by SQL text. */
  readonly #names = new Map<string, string>();
  #prepared = 0;
  #length = 0;

  /** Returns the name of a prepared statement. PostgreSQL reuses the plan of a named statement. */
  nameOf(text: string): string {
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    this.#prepared += 1;
    const name = `s${this.#prepared}`;
    this.#names.set(text, name);
    this.#length += text.length;
    return name;
  }

  /** Makes all statements be prepared again, under other names. */
  forgetPlans(): void {
    this.#names.clear();
  }

  /** Whether so many statements are prepared that a new connection should replace this one. */
  get isFull(): boolean {
    return this.#prepared >= MAX_PREPARED || this.#length >= MAX_PREPARED_LENGTH;
  }
}
