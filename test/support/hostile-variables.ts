/** Values that are wrong nearly everywhere, as JSON text, because JavaScript cannot represent some of them. */
export const HOSTILE_VALUES: readonly string[] = [
  'null',
  '1e400',
  '9'.repeat(10_000),
  String.raw`"\u0000"`,
  String.raw`"\ud800"`,
  `"${'x'.repeat(10_000)}"`,
  `"${'x'.repeat(500_000)}"`,
  `[${Array(400_000).fill('1').join(',')}]`,
  '['.repeat(100_000) + ']'.repeat(100_000),
  '{"__proto__":{"isAdmin":true,"name":"x"}}',
  '{"constructor":{"prototype":{"isAdmin":true}}}',
  '{"toString":1,"valueOf":1,"toJSON":"x","length":-1,"then":1}',
  `${'{"name":'.repeat(10_000)}1${'}'.repeat(10_000)}`,
  `{${Array.from({ length: 60_000 }, (_, n) => `"k${n}":1`).join(',')}}`,
  `{${Array(50_000).fill('"name":"x"').join(',')}}`,
];

// One operation for each type of input; none changes data that other tests read.
const OPERATIONS = [
  'query ($v: ID!) { pet(id: $v) { id } }',
  'query ($v: String) { pets(after: $v) { totalCount } }',
  'query ($v: Boolean!) { __typename @skip(if: $v) }',
  'query ($v: PetFilter) { pets(filter: $v) { totalCount } }',
  'query ($v: TimeRange) { orders(filter: { shipDate: $v }) { totalCount } }',
  'mutation ($v: DateTime) { rescheduleOrder(id: "0", shipDate: $v) { ... on Error { code } } }',
  'mutation ($v: [NewOrder!]!) { placeOrders(input: $v) { ... on Error { code } } }',
];

/** Bodies with one variable each: every value for every type. */
export const HOSTILE_VARIABLES: readonly string[] = OPERATIONS.flatMap((query) =>
  HOSTILE_VALUES.map((json) => `{"variables":{"v":${json}},"query":${JSON.stringify(query)}}`),
);

const toBody = (query: string, variables: object): string => JSON.stringify({ variables, query });

function toPage(list: string, ...place: string[]): string {
  const after = Buffer.from(JSON.stringify(place)).toString('base64url');
  const query = `query ($after: String) { ${list}(after: $after, orderBy: { field: ${place[0]} }) { totalCount nodes { __typename } } }`;
  return toBody(query, { after });
}

const RESULT = '{ __typename ... on Error { code message } }';
const toPet = (fields: object): string =>
  toBody(`mutation ($input: NewPet!) { createPet(input: $input) ${RESULT} }`, {
    input: { name: 'a', categoryId: '1', ...fields },
  });
const toCart = (...lines: object[]): string =>
  toBody(`mutation ($input: [NewOrder!]!) { placeOrders(input: $input) ${RESULT} }`, {
    input: lines.map((line) => ({ petId: '1', quantity: 1, ...line })),
  });
const toStock = (by: number, petId: string): string =>
  toBody(
    `mutation ($petId: ID!, $by: Int!) { adjustInventory(petId: $petId, by: $by) ${RESULT} }`,
    { petId, by },
  );

const MAX_INT = 2_147_483_647;
const MAX_ID = '9223372036854775807';

/** Bodies with values of the right form. */
export const HOSTILE_INPUTS: readonly string[] = [
  ...['\uD800', 'x'.repeat(7000)].map((name) => toPage('pets', 'NAME', '1', name)),
  ...['NaN', '', '0x10'].map((text) => toPage('inventory', 'QUANTITY', '1', text)),
  toPage('orders', 'SHIP_DATE', '1', '-infinity'),
  ...['a\0', '\uDFFF', 'x'.repeat(9000), 'Z͑ͫ̓A̴', '\uFEFF\u2003'].map((name) => toPet({ name })),
  ...[0, MAX_INT, MAX_INT + 1].map((quantity) => toPet({ quantity })),
  toCart(),
  ...[0, -1, MAX_INT].map((quantity) => toCart({ quantity })),
  ...[
    '0000-01-01T00:00:00Z',
    '0001-01-01T00:00:00+14:00',
    '9999-12-31T23:59:59.999-12:00',
    '+275760-09-13T00:00:00.000Z',
    8.64e15,
  ].map((shipDate) => toCart({ shipDate })),
  toCart(...Array.from({ length: 100 }, () => ({ quantity: MAX_INT }))),
  toCart({ petId: MAX_ID }, { petId: '9'.repeat(19), quantity: -1 }),
  ...[0, -0, -MAX_INT - 1].map((by) => toStock(by, '1')),
  toStock(MAX_INT, MAX_ID),
];

const QUERY = '"query":"{ __typename }"';

/** Malformed and oversized bodies. */
export const HOSTILE_BODIES: readonly string[] = [
  `{${QUERY},"__proto__":{"query":"{ x }"}}`,
  `{${QUERY},"variables":{"__proto__":{"v":1}}}`,
  `{${QUERY}${',"x":1'.repeat(100_000)}}`,
  '['.repeat(400_000),
  `{"query":${'['.repeat(200_000)}${']'.repeat(200_000)}}`,
  `[${Array(10_000).fill(`{${QUERY}}`).join(',')}]`,
  `"${String.raw`\u0041`.repeat(150_000)}"`,
  `{"query":"${'x'.repeat(900_000)}`,
  `{${QUERY},"extensions":{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`,
];
