import { readFileSync } from 'node:fs';

import { expect, it } from 'vitest';

import { openCopyOnPostgres } from '../../support/databases.ts';
import { gateway, useGateway } from '../../support/gateway.ts';
import { TIMES_UNTIL_COMPILED } from '../../support/post.ts';

/** The generic terms in the comment, and the pet store's terms. */
const WORDS: readonly [RegExp, string][] = [
  [/\bbook/g, 'pet'],
  [/\btitle\b/g, 'name'],
  [/\bauthors\b/g, 'categories'],
  [/\bauthor/g, 'category'],
];

/** Returns part of the comment in the pet store's terms. */
const toStore = (text: string): string =>
  WORDS.reduce((changed, [word, own]) => changed.replaceAll(word, own), text);

/** Returns SQL without the line breaks and indents at which a comment may break it. */
const onOneLine = (sql: string): string =>
  sql.replaceAll(/\s+/g, ' ').replaceAll(/\( /g, '(').replaceAll(/ \)/g, ')').trim();

const source = readFileSync('src/gateway/operation/statement/compile.ts', 'utf8');

/** The indented blocks of the comment: a query, its tree and its statement. */
const [query = '', , statement = ''] = Array.from(
  source.matchAll(/(?:^ \* {5}.*\n)+/gm),
  ([block]) => toStore(block.replaceAll(/^ \* {5}/gm, '')),
);

useGateway({}, openCopyOnPostgres);

it("a query is compiled to the statement shown in the compiler's comment", async () => {
  for (let time = 1; time <= TIMES_UNTIL_COMPILED; time += 1) {
    gateway.statements.length = 0;
    await gateway.data(query);
  }
  expect(gateway.statements.map(onOneLine)).toEqual([onOneLine(statement)]);
});

const textsOf = async (selected: string): Promise<Set<string>> => {
  const list = `query ($first: Int, $last: Int) { categories(first: $first, last: $last) { ${selected} } }`;
  for (let time = 1; time <= TIMES_UNTIL_COMPILED; time += 1) await gateway.data(list);
  gateway.statements.length = 0;
  for (const first of [0, 1, 20, 100]) await gateway.data(list, { first });
  return new Set(gateway.statements);
};

it('pages of all sizes share a statement, unless pageInfo is selected', async () => {
  expect((await textsOf('nodes { id }')).size).toBe(1);
  expect((await textsOf('nodes { id } pageInfo { hasNextPage }')).size).toBe(4);
});
