/**
 * Creates a fetch for a client whose reads see its own writes: it remembers the position of the store's log
 * after each write, and sends it with every later request.
 */
export function createOwnWritesFetch(send: typeof fetch = fetch): typeof fetch {
  let position = '';
  return async (input, init) => {
    const headers = new Headers(init?.headers);
    if (position) headers.set('Store-Position', position);
    const response = await send(input, { ...init, headers });
    const written = response.headers.get('Store-Position') ?? '';
    // Positions have the same number of digits.
    if (written > position) position = written;
    return response;
  };
}
