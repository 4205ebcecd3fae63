import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it, onTestFinished } from 'vitest';

import { copyBookshop, importBookshop, openNew } from '../support/bookshop.ts';
import { startGateway } from '../support/gateway.ts';
import { TIMES_UNTIL_COMPILED } from '../support/post.ts';

/** Names that the gateway's statements could use, for columns and tables of the bookshop. */
const NAMES = {
  books: 'parent',
  authors: 'lines',
  title: 'total',
  isbn: 'has_total',
  day: 'index',
  summary: 'number',
  copies: 'line_id',
};

const rename = (text: string): string =>
  Object.entries(NAMES).reduce(
    (result, [from, to]) => result.replaceAll(new RegExp(`(?<=["'.])${from}(?=["'.])`, 'g'), to),
    text,
  );

/** Renames what a copy of the bookshop calls its columns and tables. */
function renameIn(copy: string): void {
  const tables = join(copy, 'generated', 'tables.ts');
  const named = /(?<="(?:name|column|ownColumn|parent)": |"columns": \[\s*)"[^"]*"/g;
  writeFileSync(tables, readFileSync(tables, 'utf8').replaceAll(named, rename));
  const [last = ''] = readdirSync(join(copy, 'migrations')).toSorted().toReversed();
  const migration = join(copy, 'migrations', last, 'migration.sql');
  writeFileSync(migration, rename(readFileSync(migration, 'utf8')));
}

it('a store can have columns and tables with names that the gateway also uses in its statements', async () => {
  const copy = copyBookshop();
  onTestFinished(() => rmSync(copy, { recursive: true }));
  renameIn(copy);
  const bookshop = await importBookshop(copy);
  const gateway = await startGateway({}, openNew(bookshop), {}, bookshop);
  onTestFinished(() => gateway.close());
  const made = await gateway.data(`mutation {
    createAuthor(input: { name: "Ada" }) { __typename }
    createBooks(input: [
      { title: "One", isbn: "1111111111111", day: "2030-01-01", summary: "First.", copies: 1, authorId: "1" }
      { title: "Two", isbn: "2222222222222", copies: 2, authorId: "1" }
    ]) { ... on Error { message } }
    updateBooks(input: [{ id: "1", copies: 5 }, { id: "2", title: "Three", summary: null }]) {
      ... on Error { message }
    }
  }`);
  expect(JSON.stringify(made)).not.toContain('message');
  const query = `{
    books(first: 1, orderBy: { field: TITLE }) { totalCount nodes { title isbn summary copies } pageInfo { hasNextPage endCursor } }
    authors(first: 5) { nodes { name bookCount books(first: 1) { totalCount nodes { title } pageInfo { hasNextPage } } } }
  }`;
  for (let time = 0; time <= TIMES_UNTIL_COMPILED; time += 1) {
    expect(await gateway.data(query)).toMatchObject({
      books: {
        totalCount: 2,
        nodes: [{ title: 'One', isbn: '1111111111111', summary: 'First.', copies: 5 }],
        pageInfo: { hasNextPage: true },
      },
      authors: {
        nodes: [
          {
            name: 'Ada',
            bookCount: 2,
            books: { totalCount: 2, nodes: [{ title: 'One' }], pageInfo: { hasNextPage: true } },
          },
        ],
      },
    });
  }
});
