import { Agent, type IncomingMessage, request } from 'node:http';
import { json } from 'node:stream/consumers';

/** The number of executions after which a query has been compiled. */
export const TIMES_UNTIL_COMPILED = 3;

// The query of the test determines the shape of the data.
// oxlint-disable-next-line typescript/no-explicit-any
export type Data = any;

interface Options {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Returns the parameters of an operation as those of a URL. */
export const searchOf = (params: object): URLSearchParams =>
  new URLSearchParams(
    Object.entries(params).map(([name, param]) => [
      name,
      typeof param === 'string' ? param : JSON.stringify(param ?? null),
    ]),
  );

const agent = new Agent({ keepAlive: true });

/** Posts the parameters of an operation, and returns the status and the JSON of the response. Takes less time than fetch(). */
export async function postForJson(
  { url }: { readonly url: string },
  params: object,
): Promise<{ status: number; body: unknown }> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    request(`${url}/graphql`, { method: 'POST', headers, agent })
      .on('response', resolve)
      .on('error', reject)
      .end(JSON.stringify(params));
  });
  return { status: response.statusCode ?? 0, body: await json(response) };
}

/** Posts the parameters of an operation, or any text as the body. */
export const post = (
  { url }: { readonly url: string },
  params: object | string,
  { headers, signal }: Options = {},
): Promise<Response> =>
  fetch(`${url}/graphql`, {
    method: 'POST',
    // Compressing responses would take a tenth of the time of some tests.
    headers: { 'content-type': 'application/json', 'accept-encoding': 'identity', ...headers },
    body: typeof params === 'string' ? params : JSON.stringify(params),
    ...(signal && { signal }),
  });
