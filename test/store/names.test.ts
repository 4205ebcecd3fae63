import sql from 'sql-template-tag';
import { beforeAll, describe, expect, it } from 'vitest';

import { useGateway, gateway } from '../support/gateway.ts';

// In sort order. The names on one line are equal, so their ids break the tie.
const NAMES = [
  ['#1'],
  ['APFEL', 'Äpfel', 'apfel'],
  ['Łódź', 'lodz'],
  ['ødegård', 'Odegard'],
  ['Straße', 'STRASSE'],
  ['thor', 'Þór'],
  ['Zazu'],
  ['zoe', 'Zoé', 'ZOE\u0301'],
  ['zoé élan'],
  ['ωμεγα', 'Ωμέγα'],
  ['Жук', 'жук'],
  ['Өрдек'],
  ['ԵՐԵՎԱՆ'],
  ['ԵՐԵՒԱՆ'],
  ['Երևան'],
  ['日本'],
  ['😺'],
];

const namesOf = (data: Record<string, { nodes: { name: string }[] }>): string[] =>
  Object.values(data).flatMap(({ nodes }) => nodes.map(({ name }) => name));

const toBytes = (name: string): string => Buffer.from(name).toString('hex');

const search = async (name: string): Promise<string[]> =>
  namesOf(
    await gateway.data(
      'query ($name: String) { categories(first: 100, filter: { name: $name }) { nodes { name } } }',
      { name },
    ),
  );

useGateway();
beforeAll(async () => {
  // In reverse order, except for equal names.
  const data = NAMES.toReversed().flat();
  await gateway.db.write(sql`insert into categories (name) select * from unnest(${data}::text[])`);
});

it('a list sorted by NAME ignores case and accents', async () => {
  const list = '{ categories(first: 100, orderBy: { field: NAME }) { nodes { name } } }';
  expect(namesOf(await gateway.data(list))).toEqual(NAMES.flat());
});

it('a list sorted by NAME_CODE_POINT is in code point order', async () => {
  const list = '{ categories(first: 100, orderBy: { field: NAME_CODE_POINT }) { nodes { name } } }';
  expect(namesOf(await gateway.data(list))).toEqual(
    NAMES.flat().toSorted((a, b) => (toBytes(a) < toBytes(b) ? -1 : 1)),
  );
});

it.each([
  ['finds names by words in any order and without accents', 'ELAN zoe', ['zoé élan']],
  ['ignores accents that the name does not have', 'ödégard', ['ødegård', 'Odegard']],
  ['finds names by part of a word', 'tras', ['Straße', 'STRASSE']],
  ['distinguishes letters of different alphabets that look alike', 'ОМЕГА ωμ', []],
  ['ignores case in another alphabet', 'ΩΜΈ', ['ωμεγα', 'Ωμέγα']],
  ['ignores case in letters that the order of names distinguishes', 'өРД', ['Өрдек']],
  ['finds names even if a word is repeated', 'lodz Łódź', ['Łódź', 'lodz']],
  ['finds names that contain all of many words', 'z o e z é l a n', ['zoé élan']],
  ['finds no names that lack one of many words', 'z o e é l a n q', []],
  ['treats wildcards of patterns as ordinary characters', '%', []],
])('a search for names %s', async (_what, name, found) => {
  expect(await search(name)).toEqual(found);
});

it('a search compares a word that is repeated only once', async () => {
  gateway.statements.length = 0;
  expect(await search('z z z z z z')).toEqual(await search('z'));
  expect(new Set(gateway.statements).size).toBe(1);
});

describe('the Armenian ligature, whose capital forms are two letters,', () => {
  const SPELLINGS = ['ԵՐԵՎԱՆ', 'ԵՐԵՒԱՆ', 'Երևան'];

  it.each([...SPELLINGS, 'երեվան', 'երեւան', 'ԵՐԵ', 'ՎԱՆ', 'ևան', 'և', 'ան երև'])(
    'is found in each of its forms by a search for %s',
    async (name) => {
      expect((await search(name)).toSorted()).toEqual(SPELLINGS);
    },
  );

  it('is not found by a word that is in no form', async () => {
    for (const name of ['ԵՐԵԱՆ', 'երևվան', 'անե']) expect(await search(name)).toEqual([]);
  });
});
