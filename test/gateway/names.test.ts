import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { afterAll, beforeAll, expect, it, vi } from 'vitest';

import { createPglite, migratePglite, openPglite } from '../../src/gateway/database/pglite.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { TIMES_UNTIL_COMPILED } from '../support/post.ts';
import { bookshop } from './bookshop/index.ts';

/** Names that the gateway's statements could use, for columns and tables of the bookshop. */
const NAMES = vi.hoisted(() => ({
  books: 'parent',
  authors: 'lines',
  title: 'total',
  isbn: 'has_total',
  day: 'index',
  summary: 'number',
  copies: 'line_id',
}));

const rename = vi.hoisted(
  () => (text: string) =>
    Object.entries(NAMES).reduce(
      (result, [from, to]) => result.replaceAll(new RegExp(`(?<=["'.])${from}(?=["'.])`, 'g'), to),
      text,
    ),
);

vi.mock('./bookshop/generated/tables.ts', async (load) => {
  const { TABLES, ...others }: { TABLES: object } = await load();
  const renamed: unknown = JSON.parse(JSON.stringify(TABLES), (key, value: unknown) =>
    ['name', 'column', 'ownColumn'].includes(key) && typeof value === 'string'
      ? JSON.parse(rename(JSON.stringify(value)))
      : value,
  );
  return { ...others, TABLES: renamed };
});

let folder: string;
let gateway: Gateway;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'names-'));
  cpSync(bookshop.migrations, folder, { recursive: true });
  const [last = ''] = readdirSync(folder).toSorted().toReversed();
  const file = join(folder, last, 'migration.sql');
  writeFileSync(file, rename(readFileSync(file, 'utf8')));
  const migrations = pathToFileURL(`${folder}/`);
  const open: Parameters<typeof startGateway>[1] = async (_config, log) => {
    const pglite = await createPglite({});
    await migratePglite(migrations, pglite, log);
    return openPglite(migrations, pglite, log);
  };
  gateway = await startGateway({}, open, {}, bookshop);
});
afterAll(async () => {
  await gateway.close();
  rmSync(folder, { recursive: true });
});

it('a store can have columns and tables with any names', async () => {
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
