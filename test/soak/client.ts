import { setTimeout as sleep } from 'node:timers/promises';

import { createOwnWritesFetch } from '../../docs/examples/own-writes.ts';
import type { GatewayProcess } from './gateway-process.ts';
import type { Journal } from './journal.ts';

/** How long an honest caller waits for one response. */
const PATIENCE_MS = 20_000;
/** How long an honest caller keeps repeating a request. */
const MAX_RETRY_MS = 90_000;
const RETRY_MS = 150;
const SHOWN_CHARACTERS = 300;
// A request can be repeated after either error.
const TEMPORARY = new Set<string | undefined>(['SERVICE_UNAVAILABLE', 'OUTCOME_UNKNOWN']);

// All callers share this function, because the writes of one caller are compared with the reads of others.
const fetchOwnWrites = createOwnWritesFetch();

interface GraphqlBody {
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>>;
}

interface GraphqlResponse<Data> {
  readonly data?: Data | null;
  readonly errors?: readonly { readonly extensions?: { readonly code?: string } }[];
}

/** The data of a response, and how many attempts failed before it. */
interface Answered<Data> {
  readonly data: Data;
  readonly failures: number;
}

/** Sends the requests of an honest caller. */
export class Client {
  readonly #gateway: GatewayProcess;
  readonly #journal: Journal;

  constructor(gateway: GatewayProcess, journal: Journal) {
    this.#gateway = gateway;
    this.#journal = journal;
  }

  /** Sends an operation until a response without errors arrives. */
  async graphql<Data>(body: GraphqlBody): Promise<Answered<Data>> {
    let failures = 0;
    const parse = (text: string): Data | undefined => {
      const { data, errors } = JSON.parse(text) as GraphqlResponse<Data>;
      if (errors?.some(({ extensions }) => !TEMPORARY.has(extensions?.code))) {
        this.#journal.violate(`${shorten(body.query)} returned ${shorten(text)}`);
      }
      return errors ? undefined : (data ?? undefined);
    };
    const data = await repeat(async () => {
      const result = await this.#try('/graphql', body, parse);
      if (!result) failures += 1;
      return result;
    });
    return { data, failures };
  }

  /** Requests JSON from a REST route until a successful response arrives. */
  async rest<Body>(path: string): Promise<Body> {
    return repeat(() => this.#try(path, undefined, (text) => JSON.parse(text) as Body));
  }

  async #try<Result>(
    path: string,
    body: GraphqlBody | undefined,
    parse: (text: string) => Result | undefined,
  ): Promise<Result | undefined> {
    const from = performance.now();
    const headers = { 'content-type': 'application/json' };
    const init = body ? { method: 'POST', headers, body: JSON.stringify(body) } : {};
    try {
      const signal = AbortSignal.timeout(PATIENCE_MS);
      const response = await fetchOwnWrites(this.#gateway.url + path, { ...init, signal });
      const text = await response.text();
      const result = parse(text);
      if (result === undefined || !response.ok) throw new Error(shorten(text));
      this.#journal.answered += 1;
      return result;
    } catch (error) {
      this.#journal.addFailure(from, `${shorten(body?.query ?? path)}: ${explain(error)}`);
      return undefined;
    }
  }
}

/** Calls a function until it returns a result. @throws Error after MAX_RETRY_MS */
async function repeat<Result>(send: () => Promise<Result | undefined>): Promise<Result> {
  const deadline = performance.now() + MAX_RETRY_MS;
  while (performance.now() < deadline) {
    const result = await send();
    if (result !== undefined) return result;
    await sleep(RETRY_MS);
  }
  throw new Error(`An honest caller got no successful response in ${MAX_RETRY_MS} ms.`);
}

const shorten = (text: string): string =>
  text.replaceAll(/\s+/g, ' ').trim().slice(0, SHOWN_CHARACTERS);

/** Returns the message of an error and of its causes, where fetch puts the reason. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}: ${explain(error.cause)}`;
}
