// Wrong nearly everywhere. As JSON text, which can have values that JavaScript can't.
export const HOSTILE_VALUES: readonly (readonly [string, string])[] = [
  ['null', 'null'],
  ['true', 'true'],
  ['-0', '-0'],
  ['1.5', '1.5'],
  ['1e400', '1e400'],
  ['2^53 + 1', '9007199254740993'],
  ['2^64', '18446744073709551616'],
  ['a number of 10,000 digits', '9'.repeat(10_000)],
  ['an empty text', '""'],
  ['a NUL', String.raw`"\u0000"`],
  ['half a surrogate pair', String.raw`"\ud800"`],
  ['SQL', `"1' or '1'='1"`],
  ['NaN as text', '"NaN"'],
  ['10,000 characters', `"${'x'.repeat(10_000)}"`],
  ['500,000 characters', `"${'x'.repeat(500_000)}"`],
  ['an empty list', '[]'],
  ['a list in a list', '[["1"]]'],
  ['a list of null', '[null]'],
  ['100 values', `[${Array(100).fill('"x"').join(',')}]`],
  ['400,000 values', `[${Array(400_000).fill('1').join(',')}]`],
  ['lists 100,000 deep', '['.repeat(100_000) + ']'.repeat(100_000)],
  ['an empty object', '{}'],
  ['__proto__', '{"__proto__":{"isAdmin":true,"name":"x"}}'],
  ['constructor.prototype', '{"constructor":{"prototype":{"isAdmin":true}}}'],
  ['toString and toJSON', '{"toString":1,"valueOf":1,"toJSON":"x","length":-1,"then":1}'],
  ['objects 10,000 deep', `${'{"name":'.repeat(10_000)}1${'}'.repeat(10_000)}`],
  [
    '90 long texts',
    `{${Array.from({ length: 90 }, (_, n) => `"k${n}":"${'x'.repeat(10_000)}"`).join(',')}}`,
  ],
  [
    '90 long texts like a message',
    `{${Array.from({ length: 90 }, (_, n) => `"k${n}":"${String.raw` at \"v\"; `.repeat(700)}"`).join(',')}}`,
  ],
  ['100 fields', `{${Array.from({ length: 100 }, (_, n) => `"name${n}":1`).join(',')}}`],
  ['60,000 fields', `{${Array.from({ length: 60_000 }, (_, n) => `"k${n}":1`).join(',')}}`],
  ['one field 50,000 times', `{${Array(50_000).fill('"name":"x"').join(',')}}`],
];

/** An operation for each type of input; none changes data that other tests read. */
const OPERATIONS: [string, string][] = [
  ['an ID', 'query ($v: ID!) { pet(id: $v) { id } }'],
  ['an Int', 'query ($v: Int) { pets(first: $v) { totalCount } }'],
  ['a cursor', 'query ($v: String) { pets(after: $v) { totalCount } }'],
  ['a Boolean', 'query ($v: Boolean!) { __typename @skip(if: $v) }'],
  ['a PetStatus', 'query ($v: [PetStatus!]) { pets(filter: { status: $v }) { totalCount } }'],
  ['a PetFilter', 'query ($v: PetFilter) { pets(filter: $v) { totalCount } }'],
  ['ids', 'query ($v: [ID!]) { pets(filter: { ids: $v }) { totalCount } }'],
  ['inStock', 'query ($v: Boolean) { pets(filter: { inStock: $v }) { totalCount } }'],
  ['a TimeRange', 'query ($v: TimeRange) { orders(filter: { shipDate: $v }) { totalCount } }'],
  [
    'a bound of a TimeRange',
    'query ($v: DateTime) { orders(filter: { shipDate: { from: $v, before: $v } }) { totalCount } }',
  ],
  ['minQuantity', 'query ($v: Int) { inventory(filter: { minQuantity: $v }) { totalCount } }'],
  [
    'a categoryId of a filter',
    'query ($v: ID) { inventory(filter: { categoryId: $v }) { totalCount } }',
  ],
  ['a sort', 'query ($v: OrderSort) { orders(orderBy: $v) { totalCount } }'],
  [
    'a DateTime',
    'mutation ($v: DateTime) { rescheduleOrder(id: "0", shipDate: $v) { ... on Error { code } } }',
  ],
  ['a NewOrder', 'mutation ($v: NewOrder!) { placeOrder(input: $v) { ... on Error { code } } }'],
  [
    'a list of NewOrder',
    'mutation ($v: [NewOrder!]!) { placeOrders(input: $v) { ... on Error { code } } }',
  ],
];

const MANY_CHARACTERS = 50_000;
const TAKEN_AS_A_WHOLE = ['an ID', 'a PetFilter', 'a DateTime'];

/** JSON bodies with one variable each: every value for every type, the largest for some. */
export const HOSTILE_VARIABLES: readonly (readonly [string, string])[] = OPERATIONS.flatMap(
  ([type, query]) =>
    HOSTILE_VALUES.filter(
      ([, json]) => json.length < MANY_CHARACTERS || TAKEN_AS_A_WHOLE.includes(type),
    ).map(
      ([what, json]) =>
        [
          `${what} for ${type}`,
          `{"query":${JSON.stringify(query)},"variables":{"v":${json}}}`,
        ] as const,
    ),
);

const cursor = (...place: unknown[]) => ({
  after: Buffer.from(JSON.stringify(place)).toString('base64url'),
});
const BY_NAME =
  'query ($after: String) { pets(after: $after, orderBy: { field: NAME }) { totalCount nodes { id } } }';
const BY_STOCK =
  'query ($after: String) { inventory(after: $after, orderBy: { field: QUANTITY }) { nodes { petId } } }';
const BY_DATE =
  'query ($after: String) { orders(after: $after, orderBy: { field: SHIP_DATE }) { nodes { id } } }';
const CREATE =
  'mutation ($input: NewPet!) { createPet(input: $input) { __typename ... on Error { code message } } }';
const PLACE =
  'mutation ($input: NewOrder!) { placeOrder(input: $input) { __typename ... on Error { code message } } }';
const PLACE_ALL =
  'mutation ($input: [NewOrder!]!) { placeOrders(input: $input) { __typename ... on Error { code message } } }';
const ADJUST =
  'mutation ($petId: ID!, $by: Int!) { adjustInventory(petId: $petId, by: $by) { __typename ... on Error { code message } } }';
const STOCK =
  'mutation ($petId: ID!, $quantity: Int!) { updateInventory(petId: $petId, input: { quantity: $quantity }) { __typename ... on Error { code message } } }';

/** Values of the right form, each with its query. */
export const HOSTILE_INPUTS: readonly (readonly [string, string, unknown])[] = [
  ['a name cursor without a name', BY_NAME, cursor('NAME', '1')],
  ['a name cursor with a NUL', BY_NAME, cursor('NAME', '1', '\0')],
  ['a name cursor with half a pair', BY_NAME, cursor('NAME', '1', '\uD800')],
  ['a name cursor of 7,000 characters', BY_NAME, cursor('NAME', '1', 'x'.repeat(7000))],
  ['a name cursor with an id beyond int64', BY_NAME, cursor('NAME', '9'.repeat(19), 'x')],
  ['a cursor of another order', BY_NAME, cursor('ID', '1')],
  ...['NaN', '', ' ', '0x10', '1e3', '5.0', '1'.repeat(11)].map(
    (text) => [`a stock cursor of ${text}`, BY_STOCK, cursor('QUANTITY', '1', text)] as const,
  ),
  ...[
    'now',
    '2027-02-30T00:00:00Z',
    '2027-02-01T24:00:00Z',
    '0000-01-01T00:00:00Z',
    '-infinity',
    `2027-01-01T00:00:00.${'1'.repeat(500)}Z`,
  ].map((text) => [`a date cursor of ${text}`, BY_DATE, cursor('SHIP_DATE', '1', text)] as const),
  ...['a\0', '\uDFFF', 'x'.repeat(9000), 'Z͑ͫ̓A̴', '\uFEFF\u2003'].map(
    (name) => [`a pet called ${name}`, CREATE, { input: { name, categoryId: '1' } }] as const,
  ),
  ['a category beyond all', CREATE, { input: { name: 'a', categoryId: '9'.repeat(18) } }],
  ...[0, -1, 2147483647, 'NaN', true].map(
    (quantity) => [`an order of ${quantity}`, PLACE, { input: { petId: '1', quantity } }] as const,
  ),
  ...[
    '0000-01-01T00:00:00Z',
    '0001-01-01T00:00:00+14:00',
    '9999-12-31T23:59:59.999-12:00',
    '2027-13-01T00:00:00Z',
    '2027-01-01T00:00:00+99:99',
    '+275760-09-13T00:00:00.000Z',
    '-000001-01-01T00:00:00Z',
    8.64e15,
    1e300,
  ].map(
    (shipDate) =>
      [
        `an order for ${shipDate}`,
        PLACE,
        { input: { petId: '1', quantity: 1, shipDate } },
      ] as const,
  ),
  ...[0, -1, 2147483647, 2147483648, 1.5, 'NaN', null].map(
    (quantity) =>
      [
        `a pet with a stock of ${quantity}`,
        CREATE,
        { input: { name: 'a', categoryId: '1', quantity } },
      ] as const,
  ),
  ['a cart of nothing', PLACE_ALL, { input: [] }],
  ['a cart of null', PLACE_ALL, { input: [null] }],
  [
    'a cart of 100 lines',
    PLACE_ALL,
    { input: Array.from({ length: 100 }, () => ({ petId: '1', quantity: 2147483647 })) },
  ],
  [
    'a cart whose last line is wrong',
    PLACE_ALL,
    {
      input: [
        { petId: '9223372036854775807', quantity: 1 },
        { petId: '9223372036854775808', quantity: -1, shipDate: '-000001-01-01T00:00:00Z' },
      ],
    },
  ],
  ...[0, -0, -2147483648, 2147483648, 1.5, 'NaN', null].map(
    (by) => [`a stock changed by ${by}`, ADJUST, { petId: '1', by }] as const,
  ),
  ...[-1, 2147483647].map(
    (by) =>
      [`a stock of no pet changed by ${by}`, ADJUST, { petId: '9223372036854775807', by }] as const,
  ),
  ['a stock of -0', STOCK, { petId: '1', quantity: -0 }],
  ['a stock of all that fits', STOCK, { petId: '1', quantity: 2147483647 }],
  ['a stock of no pet', STOCK, { petId: '9223372036854775807', quantity: 1 }],
];

const QUERY = '"query":"{ __typename }"';

/** Malformed and oversized bodies of a POST. */
export const HOSTILE_BODIES: readonly (readonly [string, string])[] = [
  ['a prototype', `{${QUERY},"__proto__":{"query":"{ x }"}}`],
  ['a prototype with the query', '{"__proto__":{"query":"{ __typename }"}}'],
  ['a constructor', `{${QUERY},"constructor":{"prototype":{"x":1}}}`],
  ['variables of __proto__', `{${QUERY},"variables":{"__proto__":{"v":1}}}`],
  ['two queries', `{${QUERY},"query":"{ x }"}`],
  ['100,000 names', `{${QUERY}${',"x":1'.repeat(100_000)}}`],
  [
    '100,000 variables',
    `{${QUERY},"variables":{${Array.from({ length: 60_000 }, (_, n) => `"v${n}":1`).join(',')}}}`,
  ],
  ['400,000 brackets', '['.repeat(400_000)],
  ['400,000 brackets in brackets', `{"query":${'['.repeat(200_000)}${']'.repeat(200_000)}}`],
  ['a batch of 10,000', `[${Array(10_000).fill(`{${QUERY}}`).join(',')}]`],
  ['a batch in an object', `{"0":{${QUERY}},"length":1}`],
  ['a number of 900,000 digits', '9'.repeat(900_000)],
  ['a text of 900,000 escapes', `"${String.raw`\u0041`.repeat(150_000)}"`],
  ['a text that does not end', `{"query":"${'x'.repeat(900_000)}`],
  ['NULs', '\0'.repeat(1000)],
  ['a byte order mark', `\uFEFF{${QUERY}}`],
  ['white space', ' '.repeat(900_000)],
  ['a comment', `/* */{${QUERY}}`],
  ['single quotes', `{'query':'{ __typename }'}`],
  ['a form', 'query=%7B__typename%7D'],
  ['XML', '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'],
  ['multipart', '--x\r\nContent-Disposition: form-data; name="operations"\r\n\r\n{}\r\n--x--'],
  ['an operation name that is an object', `{${QUERY},"operationName":{"toString":1}}`],
  ['a query as an id', '{"id":"x","documentId":"sha256:0","doc_id":1}'],
  ['a selection 100,000 deep', `{"query":"${'{a'.repeat(100_000)}"}`],
  ['a literal 100,000 deep', `{"query":"{ pet(id: ${'['.repeat(100_000)}"}`],
  ['a type 100,000 deep', `{"query":"query ($a: ${'['.repeat(100_000)}Int"}`],
  ['20,000 aliases', `{"query":"{ ${'a:__typename '.repeat(20_000)} }"}`],
  ['5,000 directives', `{"query":"{ __typename ${'@skip(if: false) '.repeat(5000)} }"}`],
  [
    'variables 50,000 deep',
    `{${QUERY},"variables":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}`,
  ],
  [
    'extensions 100,000 deep',
    `{${QUERY},"extensions":{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`,
  ],
];
