/** An Accept that is not plain, and gets the same answer: Yoga's HTTP layer has to find out. */
export const byYoga = (accept = '*/*'): string => `x/unknown, ${accept}`;

/** Fetches in such a way that Yoga's HTTP layer answers. */
export function fetchByYoga(url: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set('accept', byYoga(headers.get('accept') ?? undefined));
  return fetch(url, { ...init, headers });
}
