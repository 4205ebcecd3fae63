/** The number of executions after which a query has been compiled. */
export const TIMES_UNTIL_COMPILED = 3;

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

/** Posts the parameters of an operation, or any text as the body. */
export const post = (
  { url }: { readonly url: string },
  params: object | string,
  { headers, signal }: Options = {},
): Promise<Response> =>
  fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof params === 'string' ? params : JSON.stringify(params),
    ...(signal && { signal }),
  });
