import type { Send } from './by-yoga.ts';

/** How an operation is posted. */
export interface Posting {
  readonly headers?: Readonly<Record<string, string>>;
  readonly send?: Send;
}

/** Posts the parameters of an operation, or text in place of their JSON. */
export const post = (
  { url }: { readonly url: string },
  params: object | string,
  { headers, send = fetch }: Posting = {},
): Promise<Response> =>
  send(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof params === 'string' ? params : JSON.stringify(params),
  });
