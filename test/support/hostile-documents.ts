import { repeat } from './repeat.ts';

/** What is posted as one operation. */
export interface HostileBody {
  query: string;
  operationName?: string;
  variables?: Record<string, unknown>;
  extensions?: unknown;
}

const wrap = (count: number, open: string, inside: string, close: string): string =>
  open.repeat(count) + inside + close.repeat(count);

const pet = (inside: string): string => `{ pet(id: 1) { ${inside} } }`;
const filtered = (literal: string): string => `{ pets(filter: ${literal}) { totalCount } }`;
const byId = (literal: string): string => `{ pet(id: ${literal}) { id } }`;
const first = (literal: string): string => `{ pets(first: ${literal}) { totalCount } }`;
const after = (literal: string): string => `{ pets(after: ${literal}) { totalCount } }`;
const cursor = (text: string): string =>
  after(JSON.stringify(Buffer.from(text, 'latin1').toString('base64url')));
const reschedule = (date: string): string =>
  `mutation { rescheduleOrder(id: 1, shipDate: ${date}) { ... on Error { code message } } }`;

// Names of properties of every JavaScript object.
const NAMES = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '__defineGetter__',
  'then',
];

const NESTED: [string, string][] = [
  ['1,600 nested selections', wrap(1600, '{ a ', '', '}')],
  ['selections that do not end', `${'{a'.repeat(1600)}${'}'.repeat(50)}`],
  ['a literal that does not end', `{ pet(id: ${'['.repeat(4900)}`],
  ['inline fragments 1,600 deep', pet(wrap(1600, '... {', 'id', '}'))],
  ['typed inline fragments 980 deep', pet(wrap(980, '... on Pet {', 'id', '}'))],
  [
    'inline fragments around many fields',
    pet(
      wrap(
        800,
        '...{',
        repeat(2400, () => 'id'),
        '}',
      ),
    ),
  ],
  ['1,200 inline fragments beside each other', pet(repeat(1200, () => '... { id }'))],
  ['lists 2,400 deep', filtered(wrap(2400, '[', '', ']'))],
  ['lists 2,400 deep in an ID', byId(wrap(2400, '[', '1', ']'))],
  ['objects 1,200 deep', filtered(wrap(1200, '{ status: ', 'SOLD', '}'))],
  ['alternating objects and lists', filtered(wrap(800, '{ status: [', '', ']}'))],
  ['a list type 2,000 deep', `query ($v: ${wrap(2000, '[', 'ID', ']')}) { __typename }`],
  ['a default 1,000 deep', `query ($v: PetFilter = ${wrap(1000, '[', '', ']')}) { __typename }`],
  ['a directive with a list 1,000 deep', `{ __typename @skip(if: ${wrap(1000, '[', '', ']')}) }`],
  [
    'a chain of 480 fragments',
    `${pet('...F0')} ${repeat(480, (n) => `fragment F${n} on Pet { id ...F${n + 1} }`)} fragment F480 on Pet { id }`,
  ],
  [
    'fragments that double 300 times',
    `${pet('...F0')} ${repeat(300, (n) => `fragment F${n} on Pet { id ...F${n + 1} ...F${n + 2} }`)} fragment F300 on Pet { id } fragment F301 on Pet { id }`,
  ],
  [
    '400 fragments beside each other',
    `${pet(repeat(400, (n) => `...F${n}`))} ${repeat(400, (n) => `fragment F${n} on Pet { id name }`)}`,
  ],
  [
    '70 fragments that all spread each other',
    `${pet('...F0')} ${repeat(70, (n) => `fragment F${n} on Pet { id ${repeat(30, (m) => `...F${(n + m) % 70}`)} }`)}`,
  ],
  [
    'a fragment that spreads itself through a field',
    `${pet('...F')} fragment F on Pet { category { pets { nodes { ...F ...F } } } }`,
  ],
  [
    'a fragment that nobody spreads and spreads itself',
    '{ __typename } fragment F on Pet { ...F }',
  ],
  ['1,600 unknown fragments', pet(repeat(1600, (n) => `...F${n}`))],
];

const MANY: [string, string][] = [
  ['one field 4,980 times', pet(repeat(4980, () => 'id'))],
  ['one object 1,200 times', pet(repeat(1200, () => 'category { id }'))],
  [
    'one deep object 190 times',
    pet(repeat(190, () => 'category{pets{nodes{category{pets{nodes{category{id name}}}}}}}')),
  ],
  [
    'one list with arguments 190 times',
    pet(
      repeat(190, () => 'orders(first: 1, after: "x", filter: { complete: true }) { totalCount }'),
    ),
  ],
  [
    'long arguments 340 times',
    pet(repeat(340, () => `orders(after: "${'x'.repeat(110)}") { totalCount }`)),
  ],
  [
    'a thousand conflicts, far down',
    `${'\n'.repeat(38_000)}${pet(`category{${repeat(1000, () => 'id')}} category{${repeat(1000, () => 'id:name')}}`)}`,
  ],
  [
    'conflicts inside of conflicts',
    pet(repeat(300, () => 'a: category { id: name } a: category { id }')),
  ],
  [
    '600 operations with one fragment',
    `${repeat(600, (n) => `query Q${n} { ...F }`)} fragment F on Query { pet(id: 1) { ${repeat(900, () => 'id')} } }`,
  ],
  [
    '150 operations with variables through 200 fragments',
    `${repeat(150, (n) => `query Q${n}($v: ID!) { ...F0 }`)} ${repeat(200, (n) => `fragment F${n} on Query { ...F${n + 1} }`)} fragment F200 on Query { pet(id: $v) { id } }`,
  ],
  ['800 operations without a name', repeat(800, () => '{ __typename }')],
  ['800 variables that nobody uses', `query (${repeat(800, (n) => `$v${n}: ID`)}) { __typename }`],
  [
    '800 variables of unknown types',
    `query (${repeat(800, (n) => `$v${n}: T${n}`)}) { __typename }`,
  ],
  ['one variable 800 times', `query (${repeat(800, () => '$v: ID')}) { __typename }`],
  ['1,600 unknown arguments', `{ pets(${repeat(1600, (n) => `k${n}: 1`)}) { totalCount } }`],
  ['1,600 unknown input fields', filtered(`{ ${repeat(1600, (n) => `k${n}: 1`)} }`)],
  ['one input field 1,600 times', filtered(`{ ${repeat(1600, () => 'name: "x"')} }`)],
  ['4,900 values of an enum', filtered(`{ status: [${repeat(4900, () => 'SOLD')}] }`)],
  ['unknown fields much like others', `{ ${repeat(49, (n) => `inventorx${n}: inventorx`)} }`],
  [
    'a union asked for all it is not',
    `mutation { deletePet(id: 0) { ${repeat(300, () => '... on Order { id } ... on Error { code }')} } }`,
  ],
  [
    '80 aliases in 80 aliases of pages',
    pet(repeat(99, (n) => `a${n}: orders(first: 100, filter: { complete: true }) { totalCount }`)),
  ],
];

const LEXED: [string, string][] = [
  ['nothing but white space', ' \t\r\n'],
  ['nothing but a comment', '# { __typename }'],
  ['nothing but 49,000 commas', ','.repeat(49_000)],
  ['49,000 commas and a field', `${','.repeat(49_000)}{ __typename }`],
  ['24,000 comments', `${'#\n'.repeat(24_000)}{ __typename }`],
  ['a comment with CR alone', '# a\r{ __typename }'],
  ['a byte order mark', '\uFEFF{ __typename }'],
  ['a byte order mark in its middle', '{ \uFEFF__typename }'],
  ['a NUL', '{ __typename\0 }'],
  ['a NUL in a comment', '# \0\n{ __typename }'],
  ['a NUL in a text', byId('"\0"')],
  ['control characters', '\u0001\u0007\u001b[31m{ __typename }'],
  ['half a surrogate pair', '{ \ud800 }'],
  ['half a surrogate pair in a text', after('"\udfff"')],
  ['a name in other letters', '{ pét }'],
  ['a name that looks like another', '{ реt(id: 1) { id } }'],
  ['an emoji', '{ 🐈 }'],
  ['text that runs backwards', '{ __typename \u202e}'],
  ['line separators', '{\u2028__typename\u2029}'],
  ['a name of 49,000 characters', `{ ${'x'.repeat(49_000)} }`],
  ['names of 12,000 characters', pet(repeat(4, () => 'x'.repeat(12_000)))],
  ['a type of 40,000 characters', `{ ... on ${'X'.repeat(40_000)} { id } }`],
  ['a variable of 40,000 characters', `query ($${'v'.repeat(40_000)}: ID!) { __typename }`],
  ['an operation of 40,000 characters', `query ${'q'.repeat(40_000)} { __typename }`],
  ['an alias of 40,000 characters', `{ ${'a'.repeat(40_000)}: __typename }`],
  ['a text that does not end', '{ pet(id: "1) { id } }'],
  ['a block that does not end', '{ pet(id: """1) { id } }'],
  ['a block with quotes at its end', byId('"""1\\""""')],
  ['a block of 9,990 lines', byId(`"""${'\n'.repeat(9990)}"""`)],
  [
    'blocks of 4,990 indented lines',
    pet(repeat(4, () => `orders(after: """${' \n'.repeat(4990)}""") { totalCount }`)),
  ],
  ['an escape that does not end', after('"\\u00')],
  ['an unknown escape', after('"\\x41"')],
  ['an escape of a NUL', filtered('{ name: "\\u0000" }')],
  ['an escape of half a pair', filtered('{ name: "\\uD800" }')],
  ['an escape of a pair the wrong way', filtered('{ name: "\\uDC00\\uD800" }')],
  ['an escape beyond Unicode', filtered('{ name: "\\u{110000}" }')],
  ['an escape of 5,000 digits', filtered(`{ name: "\\u{${'0'.repeat(5000)}41}" }`)],
  ['a line break in a text', after('"a\nb"')],
  ['a bracket too many', '{ __typename }}'],
  ['a bracket too few', '{ pet(id: 1) { id }'],
  ['brackets crossed', '{ pet(id: 1 { id ) } }'],
  ['four dots', pet('....F')],
  ['two dots', pet('..F')],
  ['a colon alone', '{ : }'],
  ['a dollar alone', 'query ($: ID) { __typename }'],
  ['an at sign alone', '{ __typename @ }'],
  ['an ampersand', '{ __typename & }'],
  ['markup', '<script>alert(1)</script>'],
  ['SQL', "'; drop table pets; --"],
  ['a template', '{{7*7}}${7*7}#{7*7}'],
  ['JSON', '{"query":"{ __typename }"}'],
];

const NUMBERS: [string, string][] = [
  ...[
    '1e400',
    '-1e400',
    '1e-400',
    '-0',
    '0.1',
    '1E+2',
    '2147483648',
    '-2147483649',
    '9007199254740993',
    '18446744073709551616',
    '9'.repeat(10_000),
    `1e${'9'.repeat(1000)}`,
    `0.${'0'.repeat(10_000)}1`,
    '01',
    '1.',
    '.5',
    '1_000',
    '0x10',
    'NaN',
    'Infinity',
    '+1',
    '--1',
    '1a',
    '"1"',
    'null',
    'true',
    '[1]',
    '{}',
    '$n',
  ].map((text): [string, string] => [`first: ${text.slice(0, 30)}`, first(text)]),
  ...[
    '-1',
    '-0',
    '1.0',
    '1e1',
    '00001',
    '9223372036854775807',
    '9223372036854775808',
    '9'.repeat(10_000),
    '""',
    '" 1"',
    '"1 "',
    '"+1"',
    '"1e3"',
    '"٣"',
    '"0x1"',
    '"1;drop"',
    "\"1' or '1'='1\"",
    '"__proto__"',
    'null',
    'true',
    'SOLD',
    '{ id: 1 }',
    '[1, 2]',
    '1.5',
  ].map((text): [string, string] => [`pet(id: ${text.slice(0, 30)})`, byId(text)]),
];

const TEXTS: [string, string][] = [
  ...[
    '%',
    '_',
    '\\\\',
    '%%%%%%%%%%%%%%%%',
    "' or 1=1 --",
    '\\\\%',
    '(a+)+$',
    '((((((((((',
    '.*.*.*.*.*.*x',
    '[[:alpha:]]',
    '$1',
    '{0}',
    '\u0130\u0130',
    '\u00df',
  ].map((text): [string, string] => [
    `a filter by the name ${text}`,
    filtered(`{ name: "${text}" }`),
  ]),
  ['a filter by 255 wildcards', filtered(`{ name: "${'%_'.repeat(127)}" }`)],
  ['a filter by a name of 10,000 characters', filtered(`{ name: "${'x'.repeat(10_000)}" }`)],
  ['a filter by a name of 255 pairs', filtered(`{ name: "${'🐈'.repeat(255)}" }`)],
  ['a filter by a name of 256 pairs', filtered(`{ name: "${'🐈'.repeat(256)}" }`)],
  ['a filter by marks that combine', filtered(`{ name: "a${'\u0301'.repeat(254)}" }`)],
  ...[
    '',
    '[]',
    '[1]',
    '["ID"]',
    '["ID","1","2"]',
    '["ID",1]',
    '["ID","x"]',
    '["ID","-1"]',
    '["ID","9223372036854775808"]',
    '["NAME","1","x"]',
    '["ID","1; drop table pets"]',
    '{"ID":"1"}',
    'null',
    '"ID"',
    '["__proto__","1"]',
    '[["ID"],"1"]',
    `${'['.repeat(3000)}${']'.repeat(3000)}`,
    '["ID","1"',
    '\0',
    '\xff\xfe',
    `["ID","${'1'.repeat(5000)}"]`,
  ].map((text): [string, string] => [
    `the cursor of ${JSON.stringify(text.slice(0, 40))}`,
    cursor(text),
  ]),
  ['a cursor with signs of no base64', after('"!!!"')],
  ['a cursor of the other base64', after('"WyJJRCIsIjEiXQ=="')],
  ...[
    '"0000-01-01T00:00:00Z"',
    '"0001-01-01T00:00:00+14:00"',
    '"9999-12-31T23:59:59-14:00"',
    '"10000-01-01T00:00:00Z"',
    '"2027-02-30T00:00:00Z"',
    '"2027-01-01T24:00:00Z"',
    '"2027-01-01T23:59:60Z"',
    '"2027-01-01"',
    '"now"',
    '"infinity"',
    '"2027-01-01T00:00:00"',
    '""',
    '0',
    '-1',
    '8640000000000001',
    '1e400',
    'true',
    '{}',
    '[]',
    'NaN',
    `"2027-01-01T00:00:00.${'0'.repeat(9000)}Z"`,
  ].map((text): [string, string] => [`the date ${text.slice(0, 40)}`, reschedule(text)]),
];

const SCHEMA: [string, string][] = [
  ...NAMES.flatMap((name): [string, string][] => [
    [`a field ${name}`, `{ ${name} }`],
    [`an alias ${name}`, `{ ${name}: __typename a: pet(id: 1) { ${name}: id } }`],
    [`an argument ${name}`, `{ pets(${name}: 1) { totalCount } }`],
    [`an input field ${name}`, filtered(`{ ${name}: { isAdmin: true } }`)],
    [`a variable ${name}`, `query ($${name}: ID!) { pet(id: $${name}) { id } }`],
    [`a fragment ${name}`, `{ ...${name} } fragment ${name} on Query { __typename }`],
    [`an operation ${name}`, `query ${name} { __typename }`],
    [`a type ${name}`, `{ ... on ${name} { id } __type(name: "${name}") { name } }`],
    [`a directive ${name}`, `{ __typename @${name} }`],
    [`a value ${name}`, filtered(`{ status: ${name} }`)],
  ]),
  [
    'types of types of types',
    '{ __schema { types { fields { type { fields { type { fields { type { name } } } } } } } } }',
  ],
  [
    'types of types under aliases',
    `{ ${repeat(49, (n) => `a${n}: __schema { types { name } }`)} }`,
  ],
  ['ofType 18 deep', `{ __type(name: "Pet") { ${wrap(18, 'ofType {', 'name', '}')} } }`],
  ['__type without a name', '{ __type { name } }'],
  ['__type of an empty name', '{ __type(name: "") { name } }'],
  ['__schema in a mutation', 'mutation { __schema { types { name } } }'],
  ['__schema in a pet', pet('__schema { types { name } }')],
  ['__typename of an ID', pet('id { __typename }')],
  ['a subscription', 'subscription { pet(id: 1) { id } }'],
  ['a type to add', 'type Query { hacked: String }'],
  ['a type to extend, and a query', 'extend type Query { hacked: String } { __typename }'],
  ['@defer', '{ ... @defer { __typename } }'],
  ['@stream', '{ pets { nodes @stream(initialCount: 0) { id } } }'],
  ['@deprecated in a query', '{ __typename @deprecated }'],
  ['@cost in a query', '{ pets @cost(weight: "0") { totalCount } }'],
  ['@listSize in a query', '{ pets @listSize(assumedSize: 0) { nodes { id } } }'],
  ['@skip without an argument', '{ __typename @skip }'],
  ['@skip with a text', '{ __typename @skip(if: "true") }'],
  ['@skip with null', '{ __typename @skip(if: null) }'],
  ['@skip twice', '{ __typename @skip(if: true) @skip(if: false) }'],
  ['@skip on a query', 'query @skip(if: true) { __typename }'],
  ['@skip of all there is', '{ __typename @skip(if: true) }'],
  ['@include of an unknown variable', '{ __typename @include(if: $v) }'],
  ['no selections', '{ pet(id: 1) }'],
  ['empty selections', '{ pet(id: 1) { } }'],
  ['no arguments', '{ pet() { id } }'],
  ['an argument twice', '{ pet(id: 1, id: 2) { id } }'],
  ['a variable in its own default', 'query ($a: ID = $a) { pet(id: $a) { id } }'],
  ['a variable of an output type', 'query ($p: Pet) { __typename }'],
  ['a fragment on an input', '{ __typename ...F } fragment F on NewPet { name }'],
  ['a fragment on an ID', '{ __typename ...F } fragment F on ID { name }'],
  ['a fragment called on', '{ ...on } fragment on on Query { __typename }'],
  ['variables of a fragment', '{ ...F(a: 1) } fragment F($a: ID) on Query { pet(id: $a) { id } }'],
];

const nested = (levels: number): string =>
  'category{pets{nodes{'.repeat(levels) + 'id name' + '}}}'.repeat(levels);
const fragments = (count: number, inside: string): string =>
  `${pet(repeat(count, (n) => `...F${n}`))} ${repeat(count, (n) => `fragment F${n} on Pet{${inside}}`)}`;

// The check that fields can be merged compares every pair of fields, in every merged selection.
const MERGED: [string, string][] = [
  ['one deep object in 240 inline fragments', pet(repeat(240, () => `...{${nested(1)}}`))],
  ['one object in 700 inline fragments', pet(repeat(700, () => '...{category{id}}'))],
  [
    'one list with arguments in 300 inline fragments',
    pet(repeat(300, () => '...{orders(first:1,after:"x"){totalCount}}')),
  ],
  ['one deep object in 50 fragments', fragments(50, nested(4))],
  ['one deeper object in 50 fragments', fragments(50, nested(5))],
  [
    'lists with arguments in 50 fragments',
    fragments(
      50,
      'orders(first:1,after:"x",filter:{complete:true}){nodes{id}} category{pets(first:1,after:"x"){nodes{id}}}',
    ),
  ],
  ['one deep object 101 times', pet(repeat(101, () => nested(5)))],
  [
    '45 fragments, each of which spreads all later ones',
    `${pet('...F0')} ${repeat(45, (n) => `fragment F${n} on Pet{a${n}:id name ${repeat(44 - n, (m) => `...F${n + 1 + m}`)}}`)}`,
  ],
  [
    '24 fragments, each of which spreads all later ones',
    `${pet('...F0')} ${repeat(24, (n) => `fragment F${n} on Pet{${nested(2)} ${repeat(23 - n, (m) => `...F${n + 1 + m}`)}}`)}`,
  ],
  [
    'one list with arguments 95 times',
    pet(repeat(95, () => 'orders(first:1,after:"x",filter:{complete:true}){totalCount}')),
  ],
  [
    '9 operations that use a variable 990 times',
    `${repeat(9, (n) => `query Q${n}($v:PetStatus!){...F}`)} fragment F on Query{${repeat(10, (n) => `a${n}:pets(filter:{status:[${repeat(99, () => '$v')}]}){totalCount}`)}}`,
  ],
];

/** Those that take longest to reject or to run. */
export const WORST_DOCUMENTS: readonly string[] = MERGED.map(([, query]) => query);

/** Documents, each with a title. */
export const HOSTILE_DOCUMENTS: readonly (readonly [string, HostileBody])[] = [
  ...[...NESTED, ...MANY, ...MERGED, ...LEXED, ...NUMBERS, ...TEXTS, ...SCHEMA].map(
    ([what, query]) => [what, { query }] as const,
  ),
  ['an unknown operation', { query: 'query A { __typename }', operationName: 'B' }],
  [
    'two operations and no operationName',
    { query: 'query A { __typename } query B { __typename }' },
  ],
  ['the operation __proto__', { query: '{ __typename }', operationName: '__proto__' }],
  [
    'an operation name of 900,000 characters',
    { query: '{ __typename }', operationName: 'x'.repeat(900_000) },
  ],
  [
    'an operation name with a line break',
    { query: '{ __typename }', operationName: 'a\r\nSet-Cookie: a' },
  ],
  [
    'a fragment for an operation',
    { query: '{ ...F } fragment F on Query { __typename }', operationName: 'F' },
  ],
  ['extensions that are a list', { query: '{ __typename }', extensions: [] }],
  [
    'extensions full of names',
    { query: '{ __typename }', extensions: Object.fromEntries(NAMES.map((name) => [name, {}])) },
  ],
  [
    'a persisted query',
    {
      query: '{ __typename }',
      extensions: { persistedQuery: { version: 1, sha256Hash: '0'.repeat(64) } },
    },
  ],
  [
    'a persisted query of another kind',
    { query: '{ __typename }', extensions: { persistedQuery: '__proto__' } },
  ],
];
