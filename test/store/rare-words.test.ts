import { raw } from 'sql-template-tag';
import { beforeAll, describe, expect, it } from 'vitest';

import { gateway, run, useGateway } from '../support/gateway.ts';
import { insertRows } from '../support/make.ts';
import { TIMES_UNTIL_COMPILED } from '../support/post.ts';

// Each name has a number of its own, half of them letters that are replaced in searches, one in a hundred a letter with an
// accent, and one the signs that LIKE gives a meaning.
const PETS = Array.from({ length: 3000 }, (_, index) => {
  const usual = index % 2 === 0 ? 'Rødgrød' : 'Rex';
  const about = index % 100 === 7 ? 'Zoë' : index % 1000 === 11 ? '100%_\\' : usual;
  return { id: index + 1, name: `${about} the ${index + 10_000}th`, category_id: 1 + (index % 2) };
});
const QUERY = `query ($filter: PetFilter, $orderBy: PetSort, $first: Int, $last: Int) {
  pets(filter: $filter, orderBy: $orderBy, first: $first, last: $last) { totalCount nodes { name } }
}`;

const PLANNED_ONCE = / = any\(array\(select id from pets_folded_name /;

/** Returns the list as graphql-js reads it, as it is compiled, and the last statement. */
async function list(variables: object) {
  const results: unknown[] = [];
  for (let time = 0; time <= TIMES_UNTIL_COMPILED; time += 1) {
    // The comment makes it a query of its own.
    const { pets } = await gateway.data(`${QUERY} # ${JSON.stringify(variables)}`, {
      ...variables,
    });
    results.push({
      total: pets.totalCount,
      names: pets.nodes.map(({ name }: { name: string }) => name),
    });
  }
  const [first] = results;
  for (const result of results) expect(result).toEqual(first);
  return { result: first, statement: gateway.statements.at(-1) ?? '' };
}

const withName = (part: string, keep: (pet: (typeof PETS)[number]) => boolean = () => true) => {
  const names = PETS.filter((pet) => pet.name.includes(part) && keep(pet)).map(({ name }) => name);
  return { total: names.length, names };
};

useGateway();

beforeAll(async () => {
  await insertRows(gateway.db, 'categories', [
    { id: 1, name: 'A' },
    { id: 2, name: 'B' },
  ]);
  await insertRows(gateway.db, 'pets', PETS);
  await gateway.db.query(raw('analyze'));
  await gateway.db.samples.read();
});

describe('a search for words that few rows contain', () => {
  it.each([
    ['digits', '10123', '10123'],
    ['a word in other case', 'REX the 10123', '10123'],
    ['an accent that only the name has', 'zoe 123', '123'],
    ['an accent that only the search has', 'réx 10123', '10123'],
    ['letters that are replaced', 'RØDGRØD rodgrod 10124', '10124'],
    ['signs with a meaning in LIKE, beside digits', '%_\\ 10011', '10011'],
    ['four words', 'x rex th 10123th', '10123'],
  ])('has one plan for all texts, and finds what contains them: %s', async (_what, name, part) => {
    const { result, statement } = await list({ filter: { name } });
    expect(result).toEqual(
      withName(part, (pet) => !name.startsWith('zoe') || pet.name.includes('Zoë')),
    );
    expect(statement).toMatch(PLANNED_ONCE);
  });

  it('is combined with other filters, orders and pages', async () => {
    const filter = { name: '1234', categoryId: '1' };
    const orderBy = { field: 'NAME', direction: 'DESC' };
    const { total, names } = withName('1234', (pet) => pet.category_id === 1);
    const page = await list({ filter, orderBy, first: 3 });
    expect(page.result).toEqual({ total, names: names.toReversed().slice(0, 3) });
    expect(page.statement).toMatch(PLANNED_ONCE);
    const last = await list({ filter, orderBy, last: 2 });
    expect(last.result).toEqual({ total, names: names.toReversed().slice(-2) });
  });

  it('finds rows that have changed since the sample', async () => {
    await run(`update pets set name = 'Rarest of all' where id = 77`);
    const { result } = await list({ filter: { name: 'rarest' } });
    expect(result).toEqual({ total: 1, names: ['Rarest of all'] });
  });
});

it.each([
  ['that many rows contain', 'rex'],
  ['that many rows contain, with letters that are replaced', 'rødgrød'],
  ['without three letters in a row', 'x 1 2'],
  ['without three letters or decimal digits in a row', '²²²'],
])('a search for words %s is planned for them, and may stop at its page', async (_what, name) => {
  const { statement } = await list({ filter: { name }, first: 1 });
  expect(statement).toContain('exists (select from pets_folded_name ');
  expect(statement).not.toMatch(PLANNED_ONCE);
});

it('after a table has been emptied and filled without ANALYZE, no words count as rare', async () => {
  await run('truncate pets cascade');
  await insertRows(gateway.db, 'pets', PETS);
  await gateway.db.samples.read();
  const { statement } = await list({ filter: { name: 'the' }, first: 1 });
  expect(statement).not.toMatch(PLANNED_ONCE);
});
