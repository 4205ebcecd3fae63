/** Fetches, by fetch itself or in a way of its own. */
export type Send = (url: string, init?: RequestInit) => Promise<Response>;

/** An Accept that is not plain, and gets the same answer: Yoga's HTTP layer has to find out. */
export const byYoga = (accept = '*/*'): string => `x/unknown, ${accept}`;

/** Fetches in such a way that Yoga's HTTP layer answers. */
export function fetchByYoga(url: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set('accept', byYoga(headers.get('accept') ?? undefined));
  return fetch(url, { ...init, headers });
}

/** Fetches past Yoga's HTTP layer and through it. */
export const WAYS: readonly (readonly [way: string, send: Send])[] = [
  ["past Yoga's HTTP layer", fetch],
  ["through Yoga's HTTP layer", fetchByYoga],
];

/** Fetches in both ways, so often that the last request meets a query that is compiled. */
export const UNTIL_COMPILED: readonly Send[] = [fetch, fetchByYoga, fetch, fetch];
