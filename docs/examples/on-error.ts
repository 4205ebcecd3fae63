/**
 * Creates a fetch function for a client that wants another result when a field fails: it sends `onError` with each
 * operation, in its body or in the URL of a GET.
 */
export const createOnErrorFetch =
  (onError: 'PROPAGATE' | 'NULL' | 'HALT', send: typeof fetch = fetch): typeof fetch =>
  (input, init) => {
    if (typeof init?.body === 'string') {
      const params = JSON.parse(init.body) as object;
      return send(input, { ...init, body: JSON.stringify({ ...params, onError }) });
    }
    const url = input instanceof Request ? input.url : String(input);
    return send(`${url}${url.includes('?') ? '&' : '?'}onError=${onError}`, init);
  };
