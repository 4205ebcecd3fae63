import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';

import { createOwnWritesFetch } from '../../docs/examples/own-writes.ts';
import type { GraphqlResponse } from '../support/gateway.ts';
import type { GatewayProcess } from './gateway-process.ts';
import type { Journal } from './journal.ts';

const PATIENCE_MS = 20_000;
const MAX_RETRY_MS = 90_000;
const RETRY_MS = 150;
const SHOWN_CHARACTERS = 300;
// A request can be repeated after either error.
const TEMPORARY = new Set(['SERVICE_UNAVAILABLE', 'OUTCOME_UNKNOWN']);

// All callers share this function, because the writes of one caller are compared with the reads of others.
const fetchOwnWrites = createOwnWritesFetch();

interface GraphqlBody {
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>>;
}

interface Answered<Data> {
  readonly data: Data;
  readonly failures: number;
}

export type Client = ReturnType<typeof createClient>;

const shorten = (text: string): string =>
  text.replaceAll(/\s+/g, ' ').trim().slice(0, SHOWN_CHARACTERS);

export function createClient(gateway: GatewayProcess, journal: Journal) {
  /** Sends a request until `parse` returns a result. @throws Error after MAX_RETRY_MS */
  async function repeat<Result>(
    path: string,
    body: GraphqlBody | undefined,
    parse: (text: string) => Result | undefined,
  ): Promise<Answered<Result>> {
    const headers = { 'content-type': 'application/json' };
    const init = body ? { method: 'POST', headers, body: JSON.stringify(body) } : {};
    const deadline = performance.now() + MAX_RETRY_MS;
    for (let failures = 0; performance.now() < deadline; failures += 1) {
      const from = performance.now();
      try {
        const signal = AbortSignal.timeout(PATIENCE_MS);
        const response = await fetchOwnWrites(gateway.url + path, { ...init, signal });
        const text = await response.text();
        const data = parse(text);
        if (data === undefined || !response.ok) throw new Error(shorten(text));
        journal.answered += 1;
        return { data, failures };
      } catch (error) {
        journal.addFailure(from, `${shorten(body?.query ?? path)}: ${inspect(error)}`);
      }
      await sleep(RETRY_MS);
    }
    throw new Error(`An honest caller got no successful response in ${MAX_RETRY_MS} ms.`);
  }
  return {
    graphql: <Data>(body: GraphqlBody): Promise<Answered<Data>> =>
      repeat('/graphql', body, (text) => {
        const { data, errors } = JSON.parse(text) as Partial<GraphqlResponse>;
        if (errors?.some(({ extensions }) => !TEMPORARY.has(extensions.code))) {
          journal.violate(`${shorten(body.query)} returned ${shorten(text)}`);
        }
        return errors ? undefined : (data as Data | undefined);
      }),
    rest: async <Body>(path: string) =>
      (await repeat(path, undefined, (text) => JSON.parse(text) as Body)).data,
  };
}
