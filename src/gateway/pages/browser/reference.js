import { watchToken } from './token.js';

const readToken = watchToken();

/** Breaks JSON into lines. Works on the text, because parsing would change ids greater than 2^53. */
function toLines(json) {
  let depth = 0;
  const lineBreak = () => `\n${'  '.repeat(depth)}`;
  return json.replaceAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]/g, (token) => {
    if (token === ':') return ': ';
    if (token === ',') return token + lineBreak();
    if (/[{[]/.test(token[0])) {
      depth += 1;
      return token + lineBreak();
    }
    if (!/[}\]]/.test(token[0])) return token;
    depth -= 1;
    return lineBreak() + token;
  });
}

async function send(form) {
  const path = form.dataset.path.replaceAll(/\{(\w+)\}/g, (_, name) =>
    encodeURIComponent(form.elements[name].value),
  );
  const token = readToken();
  const response = await fetch(path, {
    headers: token ? { Authorization: `Bearer ${token}` } : {},
    cache: 'no-store',
  });
  const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`);
  const body = toLines(await response.text());
  return [`${response.status} ${response.statusText}`, ...headers, '', body].join('\n');
}

async function show(form) {
  const block = document.createElement('figure');
  const result = document.createElement('pre');
  block.className = 'code';
  block.append(result);
  result.textContent = await send(form).catch(() => 'The gateway is not responding.');
  form.nextElementSibling.replaceChildren(block);
}

for (const form of document.querySelectorAll('form.try')) {
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void show(form);
  });
}
