/** Values that are wrong nearly everywhere, as JSON text, because JavaScript cannot represent some of them. */
export const HOSTILE_VALUES: readonly string[] = [
  'null',
  '-0',
  '2147483647',
  '-2147483648',
  '1e400',
  '9'.repeat(10_000),
  '"9223372036854775807"',
  '"9223372036854775808"',
  '""',
  String.raw`"\u0000"`,
  String.raw`"\ud800"`,
  String.raw`"%_\\' or 1=1 -- (a+)+$ \u0130 Z\u0351\u036b\u0313A \ufeff\u2003"`,
  '"0000-01-01T00:00:00Z"',
  '"9999-12-31T23:59:59.999-14:00"',
  '"-infinity"',
  // Cursors of NaN, of a date that JSON lacks, and of the prototype of objects.
  ...['["QUANTITY","1","NaN"]', '["SHIP_DATE","1","-infinity"]', '["__proto__","1"]'].map(
    (place) => `"${Buffer.from(place).toString('base64url')}"`,
  ),
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
  'query ($v: String) { orders(after: $v, orderBy: { field: SHIP_DATE }) { totalCount } inventory(after: $v, orderBy: { field: QUANTITY }) { totalCount } }',
  'mutation ($v: String!) { updateCategory(id: 0, input: { name: $v }) { ... on Error { code } } }',
  'mutation ($v: Int!) { adjustInventory(petId: 0, by: $v) { ... on Error { code } } }',
  'mutation ($v: ID!) { placeOrder(input: { petId: $v, quantity: 2147483647 }) { ... on Error { code } } }',
  'mutation ($v: [NewOrder!]!) { placeOrders(input: $v) { ... on Error { code } } }',
];

/** Bodies with one variable each: every value for every type. */
export const HOSTILE_VARIABLES: readonly string[] = OPERATIONS.flatMap((query) =>
  HOSTILE_VALUES.map((json) => `{"variables":{"v":${json}},"query":${JSON.stringify(query)}}`),
);

const QUERY = '"query":"{ __typename }"';

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
