import { rmSync } from 'node:fs';

import { afterAll, beforeAll, expect, it } from 'vitest';

import { copyBookshop, importBookshop, openNew } from '../support/bookshop.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';

const WRITE = `
const enterBooks = defineWrite({
  operation: 'enterBooks',
  args: { input: linesOf(books.newRule) },
  stored: books.normalizeAll,
  write: ({ write }, { input }) => write<Row>(insertLines(table('Book'), input)),
  toError: (error, { input }) => books.toError(error, input, true),
});

const Book = builder.prismaObject('Book', {`;

const FIELD = `
  enterBooks: t.field({
    ...fields.createMany(),
    scope,
    resolve: (_root, args, { source, caller }) => enterBooks(source.db, args, caller.subject),
  }),`;

let copy: string;
let gateway: Gateway;
beforeAll(async () => {
  copy = copyBookshop([
    ['book.ts', '  Id,', '  Id,\n  insertLines,\n  linesOf,'],
    ['book.ts', "\nconst Book = builder.prismaObject('Book', {", WRITE],
    ['book.ts', '\n  createBooks: t.field({ ...fields.createMany(), scope }),', FIELD],
  ]);
  const bookshop = await importBookshop(copy);
  gateway = await startGateway({}, openNew(bookshop), {}, bookshop);
});
afterAll(async () => {
  await gateway.close();
  rmSync(copy, { recursive: true });
});

const enter = async (books: string): Promise<unknown> => {
  const selection =
    '... on Error { code } ... on BookIsbnTaken { line } ... on AuthorNotFound { line }';
  const query = `mutation { entered: enterBooks(input: [${books}]) { ${selection} } }`;
  return (await gateway.data(query)).entered;
};
const ONE = '{ title: "One", isbn: "1111111111111" }';

it("a store's own mutation that inserts rows returns the errors of the inputs with their lines", async () => {
  expect(await enter(ONE)).toEqual({});
  const two = '{ title: "Two", isbn: "2222222222222" }';
  expect(await enter(`${two}, ${ONE}`)).toEqual({ code: 'BOOK_ISBN_TAKEN', line: 1 });
  const lost = '{ title: "Lost", isbn: "3333333333333", authorId: "99" }';
  expect(await enter(`${two}, ${lost}`)).toEqual({ code: 'AUTHOR_NOT_FOUND', line: 1 });
});
