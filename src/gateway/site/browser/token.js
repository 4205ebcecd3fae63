// The syntax of a token (RFC 6750 §2.1).
const TOKEN = /^[\w.~+/-]+=*$/;

/**
 * Reads the token whenever the user enters one in the page's token field, if there is such a field, and clears the
 * field. Returns a function that returns the last token. The token is kept only in the page's memory: browsers store the
 * contents of fields, and other scripts can read the page's storage.
 */
export function watchToken() {
  const field = document.querySelector('#token');
  let token;
  field?.addEventListener('change', () => {
    const text = field.value.trim().replace(/^Bearer /i, '');
    token = TOKEN.test(text) ? text : undefined;
    field.value = '';
    field.placeholder = token ? 'Sent from now on' : 'Not a valid token';
  });
  return () => token;
}
