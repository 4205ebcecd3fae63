/**
 * Creates a fetch function for a client that reads its own writes. The function keeps the `Store-Position` of
 * the last write, and sends that position with every later request.
 */
export function createOwnWritesFetch(send: typeof fetch = fetch): typeof fetch {
  let position = '';
  return async (input, init) => {
    const headers = new Headers(init?.headers);
    if (position) headers.set('Store-Position', position);
    const response = await send(input, { ...init, headers });
    const written = response.headers.get('Store-Position') ?? '';
    // All positions have the same number of digits, so strings compare like numbers.
    if (written > position) position = written;
    return response;
  };
}
