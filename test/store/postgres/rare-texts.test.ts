import { raw } from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openCopyOnPostgres } from '../../support/databases.ts';
import { type Gateway, startGateway } from '../../support/gateway.ts';
import { TIMES_UNTIL_COMPILED } from '../../support/post.ts';

// Every second pet is a Rex, which makes it the most common name; the others have a number.
const PETS = Array.from({ length: 4000 }, (_, index) => ({
  id: String(index + 1),
  name: index % 2 === 0 ? 'Rex' : `Pet ${String(index + 1).padStart(5, '0')}`,
}));
const FILL = [
  `insert into categories (name) select 'Kind ' || n from generate_series(1, 5) as n`,
  `insert into pets (name, category_id) select name, number % 5 + 1
    from unnest('{${PETS.map(({ name }) => name).join()}}'::text[]) with ordinality as pet (name, number)`,
  'analyze',
];
const RARE_FORM = 'any(array(select id from pets';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({}, openCopyOnPostgres);
  for (const sql of FILL) await gateway.db.write(raw(sql));
});
afterAll(() => gateway.close());

/** Searches, and returns whether a statement looked the text up as a rare one. */
async function isSearchedAsRare(name: string): Promise<boolean> {
  gateway.statements.length = 0;
  await gateway.data('query ($name: String) { pets(filter: { name: $name }) { nodes { id } } }', {
    name,
  });
  return gateway.statements.some((sql) => sql.includes(RARE_FORM));
}

const QUERY = `query ($name: String!) {
  pets(first: 3, filter: { name: $name }) { totalCount nodes { id name } }
  byName: pets(last: 3, filter: { name: $name }, orderBy: { field: NAME }) { nodes { id name } }
  after: pets(first: 3, filter: { name: $name, categoryId: 2 }, after: "WyJJRCIsIjEwMDAiXQ") { nodes { id name } }
  category(id: 2) { pets(first: 3, filter: { name: $name }) { totalCount nodes { id name } } }
}`;

/** Returns the data of QUERY. */
function expectedFor(name: string): object {
  const found = PETS.filter((pet) => pet.name.toLowerCase().includes(name.toLowerCase()));
  const inCategory = found.filter(({ id }) => Number(id) % 5 === 1);
  const later = inCategory.filter(({ id }) => Number(id) > 1000);
  return {
    pets: { totalCount: found.length, nodes: found.slice(0, 3) },
    // Names with a number are in the order of ids.
    byName: { nodes: found.slice(-3) },
    after: { nodes: later.slice(0, 3) },
    category: { pets: { totalCount: inCategory.length, nodes: inCategory.slice(0, 3) } },
  };
}

describe('a search in names', () => {
  it('is for a rare text as soon as the statistics of PostgreSQL say so', async () => {
    await expect.poll(() => isSearchedAsRare('et 0123')).toBe(true);
    expect(await isSearchedAsRare('PET 00322')).toBe(true);
  });

  it.each([
    ['a common name', 'rex'],
    ['a common part of many names', 'pet 0'],
    ['less than three letters or digits', '12'],
    ['only wildcards', '%_%'],
    ['what the index of trigrams does not contain', '²²²'],
  ])('is planned by PostgreSQL for %s', async (_what, name) => {
    expect(await isSearchedAsRare(name)).toBe(false);
  });

  it('is planned by PostgreSQL in the lists of several parents', async () => {
    expect(await isSearchedAsRare('et 0123')).toBe(true);
    gateway.statements.length = 0;
    for (let time = 0; time <= TIMES_UNTIL_COMPILED; time += 1) {
      await gateway.data(
        '{ categories { nodes { pets(filter: { name: "et 0123" }) { totalCount } } } }',
      );
    }
    expect(gateway.statements.join()).not.toContain(RARE_FORM);
  });

  it.each(['et 0123', 'PET 00322', 'no such name', 'et_0123', '%et 0123%', '012\\'])(
    'finds the rows with the rare text %s',
    async (name) => {
      expect(await isSearchedAsRare(name)).toBe(true);
      for (let time = 0; time <= TIMES_UNTIL_COMPILED; time += 1) {
        expect(await gateway.data(QUERY, { name })).toEqual(expectedFor(name));
      }
    },
  );
});
