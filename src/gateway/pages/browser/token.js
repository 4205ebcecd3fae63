// RFC 6750 §2.1
const TOKEN = /^[\w.~+/-]+=*$/;

/**
 * Takes the token that is typed into the field of a page, if it has one; returns the function that reads it. It is
 * only in the memory of the page: a browser would keep the content of the field, and other scripts read its storage.
 */
export function watchToken(onChange = () => {}) {
  const field = document.querySelector('#token');
  let token;
  field?.addEventListener('change', () => {
    const text = field.value.trim().replace(/^Bearer /i, '');
    token = TOKEN.test(text) ? text : undefined;
    field.value = '';
    field.placeholder = token ? 'Sent with each request' : 'Not a valid token';
    onChange();
  });
  return () => token;
}
