import { repeat } from './repeat.ts';

const wrap = (count: number, open: string, inside: string, close: string): string =>
  open.repeat(count) + inside + close.repeat(count);

const pet = (inside: string): string => `{ pet(id: 1) { ${inside} } }`;
const pets = (argument: string): string => `{ pets(${argument}) { totalCount } }`;
const filtered = (literal: string): string => pets(`filter: ${literal}`);
const byId = (literal: string): string => `{ pet(id: ${literal}) { id } }`;

const DEEP = [
  wrap(1600, '{ a ', '', '}'),
  byId('['.repeat(4900)),
  pet(wrap(980, '... on Pet {', 'id', '}')),
  filtered(wrap(800, '{ status: [', '', ']}')),
  `query ($v: ${wrap(2000, '[', 'ID', ']')}) { __typename }`,
  `{ __type(name: "Pet") { ${wrap(18, 'ofType {', 'name', '}')} } }`,
  `{ __schema { types { ${wrap(3, 'fields { type { ', 'name', '} }')} } } }`,
];

const SPREAD = [
  `${pet('...F0')} ${repeat(300, (n) => `fragment F${n} on Pet { id ...F${n + 1} ...F${n + 2} }`)} fragment F300 on Pet { id } fragment F301 on Pet { id }`,
  `${pet('...F0')} ${repeat(70, (n) => `fragment F${n} on Pet { id ${repeat(30, (m) => `...F${(n + m) % 70}`)} }`)}`,
  pet(repeat(1600, (n) => `...F${n}`)),
  `${repeat(600, (n) => `query Q${n} { ...F }`)} fragment F on Query { pet(id: 1) { ${repeat(900, () => 'id')} } }`,
];

const REPEATED = [
  pet(repeat(190, () => 'category{pets{nodes{category{pets{nodes{category{id name}}}}}}}')),
  `${'\n'.repeat(38_000)}${pet(`category{${repeat(1000, () => 'id')}} category{${repeat(1000, () => 'id:name')}}`)}`,
  repeat(800, () => '{ __typename }'),
  `query (${repeat(800, (n) => `$v${n}: T${n}`)}) { __typename }`,
  filtered(`{ ${repeat(1600, (n) => `k${n}: 1`)} }`),
  filtered(`{ ${repeat(1600, () => 'name: "x"')} }`),
  `{ ${repeat(49, (n) => `a${n}: __schema { types { name } }`)} }`,
  `mutation { deletePet(id: 0) { ${repeat(300, () => '... on Order { id } ... on Error { code }')} } }`,
  pet(repeat(99, (n) => `a${n}: orders(first: 100, filter: { complete: true }) { totalCount }`)),
];

const LEXED = [
  `${','.repeat(49_000)}{ __typename }`,
  '{ __typename\0 }',
  pets('after: "\udfff"'),
  `query ($${'v'.repeat(40_000)}: ID!) { __typename }`,
  byId(`"""${'\n'.repeat(9990)}"""`),
  filtered(`{ name: "\\u{${'0'.repeat(5000)}41}" }`),
  '{ pets { nodes @stream(initialCount: 0) { id } } ... @defer { __typename } }',
];

// Properties of every JavaScript object, and of a promise.
const NAMES = ['__proto__', 'constructor', 'toString', 'then'].flatMap((name) => [
  `{ ${name}: __typename a: pet(id: 1) { ${name}: id } }`,
  filtered(`{ ${name}: { isAdmin: true } }`),
  filtered(`{ status: ${name} }`),
  `query ($${name}: ID!) { pet(id: $${name}) { id } }`,
  `query ${name} { ...${name} } fragment ${name} on Query { __typename }`,
  `{ ... on ${name} { id } __type(name: "${name}") { name } }`,
]);

const nested = (levels: number): string =>
  'category{pets{nodes{'.repeat(levels) + 'id name' + '}}}'.repeat(levels);
const fragments = (count: number, inside: string): string =>
  `${pet(repeat(count, (n) => `...F${n}`))} ${repeat(count, (n) => `fragment F${n} on Pet{${inside}}`)}`;

/**
 * The documents that take longest to reject or to run: validation compares every pair of fields that may be merged, in
 * every merged selection.
 */
export const WORST_DOCUMENTS: readonly string[] = [
  pet(repeat(240, () => `...{${nested(1)}}`)),
  fragments(50, nested(5)),
  fragments(
    50,
    'orders(first:1,after:"x",filter:{complete:true}){nodes{id}} category{pets(first:1,after:"x"){nodes{id}}}',
  ),
  `${pet('...F0')} ${repeat(45, (n) => `fragment F${n} on Pet{a${n}:id name ${repeat(44 - n, (m) => `...F${n + 1 + m}`)}}`)}`,
  `${pet('...F0')} ${repeat(24, (n) => `fragment F${n} on Pet{${nested(2)} ${repeat(23 - n, (m) => `...F${n + 1 + m}`)}}`)}`,
  pet(repeat(95, () => 'orders(first:1,after:"x",filter:{complete:true}){totalCount}')),
  `${repeat(9, (n) => `query Q${n}($v:PetStatus!){...F}`)} fragment F on Query{${repeat(10, (n) => `a${n}:pets(filter:{status:[${repeat(99, () => '$v')}]}){totalCount}`)}}`,
];

const DOCUMENTS = [...DEEP, ...SPREAD, ...REPEATED, ...LEXED, ...NAMES, ...WORST_DOCUMENTS];

const query = '{ __typename }';
const WITH_MORE = [
  { operationName: '__proto__' },
  { operationName: 'x'.repeat(900_000) },
  { operationName: { toString: 1 } },
  { extensions: { constructor: {}, toString: {} } },
  { extensions: { persistedQuery: '__proto__' } },
].map((more) => ({ ...more, query }));

export const HOSTILE_DOCUMENTS: readonly string[] = [
  ...DOCUMENTS.map((document) => JSON.stringify({ query: document })),
  ...WITH_MORE.map((params) => JSON.stringify(params)),
];
