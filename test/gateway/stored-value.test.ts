import { describe, expect, it } from 'vitest';

import {
  parseStored,
  type StoredValue,
  stringifyStored,
} from '../../src/gateway/model/stored-value.ts';

// The texts are those that superjson 2.2.6 wrote.
const STORED: [what: string, value: unknown, text: string][] = [
  [
    'an id beyond 2^53',
    { id: 9_007_199_254_740_993n },
    '{"json":{"id":"9007199254740993"},"meta":{"values":{"id":["bigint"]},"v":1}}',
  ],
  [
    'a time and a day',
    { time: new Date('2100-01-01T10:00:00.5Z'), day: new Date('0999-12-03') },
    '{"json":{"time":"2100-01-01T10:00:00.500Z","day":"0999-12-03T00:00:00.000Z"},"meta":{"values":{"time":["Date"],"day":["Date"]},"v":1}}',
  ],
  [
    'null, and a value that is undefined',
    { a: null, b: undefined },
    '{"json":{"a":null,"b":null},"meta":{"values":{"b":["undefined"]},"v":1}}',
  ],
  [
    'rows in a list',
    [
      'placeOrders',
      [
        { petId: 1n, date: null },
        { petId: 2n, date: new Date(0) },
      ],
      3n,
    ],
    '{"json":["placeOrders",[{"petId":"1","date":null},{"petId":"2","date":"1970-01-01T00:00:00.000Z"}],"3"],"meta":{"values":{"2":["bigint"],"1.0.petId":["bigint"],"1.1.petId":["bigint"],"1.1.date":["Date"]},"v":1}}',
  ],
  [
    'names with dots',
    { 'a.b\\': { c: 1n } },
    String.raw`{"json":{"a.b\\":{"c":"1"}},"meta":{"values":{"a\\.b\\\\.c":["bigint"]},"v":1}}`,
  ],
  ['an id alone', 1n, '{"json":"1","meta":{"values":["bigint"],"v":1}}'],
];

describe('a stored value', () => {
  it.each(STORED)('has the text that 4.0 wrote, and is read from it: %s', (_what, value, text) => {
    expect(stringifyStored(value)).toBe(text);
    const stored: StoredValue = JSON.parse(text);
    expect(parseStored(stored)).toStrictEqual(value);
  });

  it("can't be an object whose text would lose its content", () => {
    expect(() => stringifyStored([new Map([[1, 2]])])).toThrow("A Map can't be stored.");
    const json: StoredValue = { json: [], meta: { values: ['set'], v: 1 } };
    expect(() => parseStored(json)).toThrow('unknown type set');
  });
});
