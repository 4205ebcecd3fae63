// The words of GraphQL, JSON and a shell command, by their class; a URL has no colour.
const TOKENS = {
  url: /https?:\/\/\S+/,
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

/** Colours the code in an element. */
export function highlight(element) {
  const code = element.textContent;
  const parts = [];
  let end = 0;
  for (const { 0: token, index, groups } of code.matchAll(PATTERN)) {
    const span = document.createElement('span');
    [span.className] = Object.entries(groups).find(([, text]) => text !== undefined);
    span.textContent = token;
    parts.push(code.slice(end, index), span);
    end = index + token.length;
  }
  element.replaceChildren(...parts, code.slice(end));
}
