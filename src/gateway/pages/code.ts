import escapeHtml from 'escape-html';

// The words of GraphQL, JSON and a shell command that have a colour, by their class.
const TOKENS = {
  comment: /#[^\n]*/,
  key: /"(?:[^"\\\n]|\\.)*"(?=\s*:)|\b\w+(?=:)/,
  text: /"(?:[^"\\\n]|\\.)*"/,
  word: /\b(?:query|mutation|subscription|fragment|on|true|false|null|GET|POST|curl)\b/,
  number: /-?\b\d+(?:\.\d+)?\b/,
};

const PATTERN = new RegExp(
  Object.entries(TOKENS)
    .map(([name, { source }]) => `(?<${name}>${source})`)
    .join('|'),
  'g',
);

/** Writes code as HTML with the class of each token. */
function highlight(code: string): string {
  let html = '';
  let end = 0;
  for (const { 0: token, index, groups = {} } of code.matchAll(PATTERN)) {
    const [name] = Object.entries(groups).find(([, text]) => text !== undefined) ?? [];
    html += `${escapeHtml(code.slice(end, index))}<span class="${name}">${escapeHtml(token)}</span>`;
    end = index + token.length;
  }
  return html + escapeHtml(code.slice(end));
}

/** A block of code, as HTML, with its title. The script of the pages adds a button that copies it. */
export const renderBlock = (title: string, html: string): string =>
  `<figure class="code"><figcaption>${escapeHtml(title)}</figcaption>
<pre tabindex="0" role="group" aria-label="${escapeHtml(title)}">${html}</pre></figure>`;

/** A block of GraphQL or JSON, with its title. */
export const renderCode = (title: string, code: string): string =>
  renderBlock(title, highlight(code));
