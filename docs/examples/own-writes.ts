// Longer than a replica lags behind the primary.
const KEPT_MS = 60_000;

/**
 * Creates a fetch function for a client that reads its own writes. For a minute, the function sends the
 * `Store-Position` of the last write with each request, which then reads from the primary. Later requests may be served
 * by a replica.
 */
export function createOwnWritesFetch(send: typeof fetch = fetch): typeof fetch {
  let position = '';
  let writtenAt = 0;
  return async (input, init) => {
    const headers = new Headers(init?.headers);
    if (position && Date.now() < writtenAt + KEPT_MS) headers.set('Store-Position', position);
    const response = await send(input, { ...init, headers });
    const written = response.headers.get('Store-Position');
    if (written) {
      position = written;
      writtenAt = Date.now();
    }
    return response;
  };
}
