import { setTimeout as sleep } from 'node:timers/promises';

import { createOwnWritesFetch } from '../clients/own-writes.ts';
import type { GatewayProcess } from './gateway-process.ts';
import type { Journal } from './journal.ts';

/** How long an honest caller waits for one response. */
const PATIENCE_MS = 20_000;
const RETRY_MS = 150;
const SHOWN_CHARACTERS = 300;
// After both, a request can be repeated.
const TEMPORARY: ReadonlySet<string | undefined> = new Set([
  'SERVICE_UNAVAILABLE',
  'OUTCOME_UNKNOWN',
]);

// What one caller has written is compared with what others read.
const fetchOwnWrites = createOwnWritesFetch();

/** Thrown if an honest caller has no response by the end of the soak. */
export class GivenUp extends Error {}

export interface GraphqlBody {
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>>;
}

interface GraphqlAnswer<Data> {
  readonly data?: Data | null;
  readonly errors?: readonly { readonly extensions?: { readonly code?: string } }[];
}

/** The data of a response, and how many requests failed before. */
export interface Answered<Data> {
  readonly data: Data;
  readonly failures: number;
}

/** Sends the requests of an honest caller. */
export class Client {
  readonly #gateway: GatewayProcess;
  readonly #journal: Journal;
  /** Set when the soak has no more time to wait for responses. */
  givesUp = false;

  constructor(gateway: GatewayProcess, journal: Journal) {
    this.#gateway = gateway;
    this.#journal = journal;
  }

  /** Sends an operation once; returns undefined if no response came. */
  async tryGraphql<Data>(body: GraphqlBody): Promise<Data | undefined> {
    return this.#try(body.query, async (url, signal) => {
      const headers = { 'content-type': 'application/json' };
      const init = { method: 'POST', headers, body: JSON.stringify(body), signal };
      const text = await (await fetchOwnWrites(`${url}/graphql`, init)).text();
      const { data, errors } = JSON.parse(text) as GraphqlAnswer<Data>;
      if (errors?.some(({ extensions }) => !TEMPORARY.has(extensions?.code))) {
        this.#journal.violate(`${shorten(body.query)} was answered with ${shorten(text)}`);
      }
      if (errors || !data) throw new Error(shorten(text));
      return data;
    });
  }

  /** Sends an operation until a response comes. */
  async graphql<Data>(body: GraphqlBody): Promise<Answered<Data>> {
    for (let failures = 0; !this.givesUp; failures += 1) {
      const data = await this.tryGraphql<Data>(body);
      if (data) return { data, failures };
      await sleep(RETRY_MS);
    }
    throw new GivenUp(shorten(body.query));
  }

  /** Requests JSON from REST until a response comes. */
  async rest<Body>(path: string): Promise<Body> {
    while (!this.givesUp) {
      const answer = await this.#try(`GET ${path}`, async (url, signal) => {
        const response = await fetchOwnWrites(url + path, { signal });
        const text = await response.text();
        if (!response.ok && response.status !== 503) {
          this.#journal.violate(
            `GET ${path} was answered with ${response.status} ${shorten(text)}`,
          );
        }
        if (!response.ok) throw new Error(`${response.status} ${shorten(text)}`);
        return { body: JSON.parse(text) as Body };
      });
      if (answer) return answer.body;
      await sleep(RETRY_MS);
    }
    throw new GivenUp(path);
  }

  async #try<Result>(
    what: string,
    send: (url: string, signal: AbortSignal) => Promise<Result>,
  ): Promise<Result | undefined> {
    const from = performance.now();
    try {
      const result = await send(this.#gateway.url, AbortSignal.timeout(PATIENCE_MS));
      this.#journal.addAnswer(from);
      return result;
    } catch (error) {
      this.#journal.addFailure(from, `${shorten(what)}: ${explain(error)}`);
      return undefined;
    }
  }
}

const shorten = (text: string): string =>
  text.replaceAll(/\s+/g, ' ').trim().slice(0, SHOWN_CHARACTERS);

/** Returns the message of an error and of its causes, where fetch puts the reason. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${explain(error.cause)}`;
}
