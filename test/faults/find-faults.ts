import { type Node, parseSync, type Span, Visitor } from 'oxc-parser';

// Operators and words of TypeScript and of SQL, and what someone might have written instead.
const MISTAKES: Readonly<Record<string, string>> = {
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '+': '-',
  '-': '+',
  '*': '+',
  and: 'or',
  desc: 'asc',
  'for update': '',
};
const SQL_WORD = /(?<=\s)(?:[<>]=?|[-+]|and|desc|for update)(?=[\s),`]|\$)/g;
// Methods whose result has the type of their object.
const OMITTED = /\.(?:filter|slice|toSorted|toReversed|replaceAll|trim|toLowerCase)$/;

/** Derives faults from a source file: plausible mistakes that leave it valid. Each has a name, and the file with it. */
export function findFaults(path: string, source: string) {
  const faults: { path: string; name: string; source: string }[] = [];
  const replace = ({ start, end }: Span, ...replacements: string[]): void => {
    const line = source.slice(0, start).split('\n').length;
    for (const replacement of replacements) {
      const faulty = source.slice(0, start) + replacement + source.slice(end);
      const name = `${path}:${line} ${source.slice(start, end)} → ${replacement}`;
      if (parseSync(path, faulty).errors.length === 0)
        faults.push({ path, name: name.replaceAll(/\s+/g, ' '), source: faulty });
    }
  };
  const reduce = (node: Span, ...parts: Span[]): void =>
    replace(node, ...parts.map(({ start, end }) => `(${source.slice(start, end)})`));
  const omitEach = (items: readonly (Span | null)[]): void =>
    items.forEach((item, index) => {
      if (item) replace({ start: item.start, end: items[index + 1]?.start ?? item.end }, '');
    });
  const tagged = new Set<Node>();

  new Visitor({
    ExpressionStatement: (node) => replace(node, ';'),
    AwaitExpression: (node) => reduce(node, node.argument),
    IfStatement: ({ test }) => replace(test, 'true', 'false'),
    ConditionalExpression: (node) => reduce(node, node.consequent, node.alternate),
    LogicalExpression: (node) => reduce(node, node.left, node.right),
    BinaryExpression: ({ operator, left }) => {
      const mistake = MISTAKES[operator];
      const start = source.indexOf(operator, left.end);
      if (mistake) replace({ start, end: start + operator.length }, mistake);
    },
    CallExpression: (node) => {
      const { callee } = node;
      if (callee.type === 'MemberExpression' && OMITTED.test(source.slice(0, callee.end)))
        reduce(node, callee.object);
    },
    ArrayExpression: ({ elements }) => omitEach(elements),
    ObjectExpression: ({ properties }) => omitEach(properties),
    Literal: (node) => {
      if (typeof node.value === 'boolean') replace(node, String(!node.value));
      if (typeof node.value === 'number') replace(node, node.value === 0 ? '1' : '0');
    },
    TaggedTemplateExpression: ({ quasi }) => {
      tagged.add(quasi);
      for (const { 0: word, index } of source.slice(quasi.start, quasi.end).matchAll(SQL_WORD)) {
        const start = quasi.start + index;
        replace({ start, end: start + word.length }, MISTAKES[word] ?? '');
      }
    },
    TemplateLiteral: (node) => {
      if (tagged.has(node)) return;
      for (const { start, end } of node.expressions)
        replace({ start: start - 2, end: end + 1 }, '');
    },
  }).visit(parseSync(path, source).program);
  return faults;
}
