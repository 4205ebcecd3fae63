import { readFileSync } from 'node:fs';

import { expect, it } from 'vitest';

import { openCopyOnPostgres } from '../../support/databases.ts';
import { startGateway } from '../../support/gateway.ts';
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

it("a query is compiled to the statement shown in the compiler's comment", async () => {
  const source = readFileSync('src/gateway/graphql/statement/compile.ts', 'utf8');
  const [, query = '', indented = ''] =
    /In a bookshop, this statement executes\n \* `(.*)` for .*\n \*\n((?: \* {5}.*\n)+)/.exec(
      source,
    ) ?? [];
  const gateway = await startGateway({}, openCopyOnPostgres);
  for (let time = 1; time <= TIMES_UNTIL_COMPILED; time += 1) {
    gateway.statements.length = 0;
    await gateway.data(toStore(query));
  }
  const shown = toStore(indented.replaceAll(/^ \*/gm, ''));
  expect(gateway.statements.map(onOneLine)).toEqual([onOneLine(shown)]);
  await gateway.close();
});
