// RFC 6750 §2.1
const TOKEN = /^[\w.~+/-]+=*$/;

/** Takes the token from a field, in which a browser would keep it; undefined if it is not a token. */
export function takeToken(field) {
  const token = field.value.trim().replace(/^Bearer /i, '');
  field.value = '';
  return TOKEN.test(token) ? token : undefined;
}

/** Keeps the token that is typed into a field, in memory only; returns the function that reads it. */
export function watchToken(field) {
  let token;
  field?.addEventListener('change', () => {
    token = takeToken(field);
    field.placeholder = token ? 'Sent with each request' : 'This is not a token';
  });
  return () => token;
}
