// The tokens of GraphQL, JSON and shell commands, by CSS class; URLs are not coloured. JSON in single quotes has its own
// tokens.
const TOKENS = {
  url: /https?:\/\/\S+|(?<=\s)\/\w\S*/,
  comment: /#[^\n]*/,
  key: /"(?:[^"\\\n]|\\.)*"(?=\s*:)|\b\w+(?=:)/,
  text: /"(?:[^"\\\n]|\\.)*"|(?<!\w)'[^'{\n]*'/,
  word: /\b(?:query|mutation|subscription|fragment|on|true|false|null|GET|POST|curl)\b/,
  number: /-?\b\d+(?:\.\d+)?\b/,
};

const PATTERN = new RegExp(
  Object.entries(TOKENS)
    .map(([name, { source }]) => `(?<${name}>${source})`)
    .join('|'),
  'g',
);

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
