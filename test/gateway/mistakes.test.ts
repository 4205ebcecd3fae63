import { rmSync } from 'node:fs';

import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

import { copyBookshop, type Edit, importBookshop, openNew } from '../support/bookshop.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { openEvents } from '../support/live.ts';
import { letASecondPass } from '../support/logged.ts';
import { builderOf } from '../support/models.ts';
import { TIMES_UNTIL_COMPILED } from '../support/post.ts';

// In each edit, this text of the bookshop gets more fields in front of it.
const IN_BOOK = '    title: t.exposeString(';
const IN_QUERY = '  book: t.field(fields.row),';
const IN_MUTATION = '  createBook: t.field({ ...fields.create(), scope }),';

const addTo = (text: string, fields: string): Edit => ['book.ts', text, `${fields}\n${text}`];

const CALLER = "resolve: (_parent, _args, context) => (context as any).caller.subject ?? 'nobody'";
const reader = (name: string): string =>
  `${name}: t.string({ description: 'Who reads.', extensions: { maxBytes: 300 }, ${CALLER} }),`;

/** A mutation of the store's own that inserts rows. */
const CREATE_BOOKS = `
const createBooks = defineWrite({
  operation: 'createBooks',
  args: { input: linesOf(books.newRule) },
  stored: books.normalizeAll,
  write: ({ write }, { input }) => write<Row>(insertLines(table('Book'), input)),
  toError: (error, { input }) => books.toError(error, input, true),
});
`;

const EDITS: readonly Edit[] = [
  ['book.ts', '  Id,', '  Id,\n  insertLines,\n  linesOf,\n  listOf,'],
  addTo("\nconst Book = builder.prismaObject('Book', {", CREATE_BOOKS),
  [
    'book.ts',
    'fields.createMany(), scope',
    `fields.createMany(), scope,
      resolve: (_root, args, { source, caller }) => createBooks(source.db, args, caller.subject)`,
  ],
  addTo(
    IN_BOOK,
    `tags: t.stringList({
      description: 'Tags.', extensions: { ...listOf(2), maxBytes: 6 },
      resolve: ({ copies }) => Array.from({ length: copies }, () => 'Ω'.repeat(copies)),
    }),
    stock: t.int({
      description: 'How many.',
      resolve: async ({ id }, _args, { source: { db } }) =>
        (await db.query(sql\`select copies from books where id = \${id}\`))[0].copies,
    }),
    later: t.stringList({
      description: 'Tags.', extensions: { ...listOf(3), maxBytes: 6 },
      resolve: ({ copies }) => [Promise.resolve('fourth'.slice(0, copies + 2)), 'tag'],
    }),
    note: t.string({
      description: 'A note.',
      ...derivedValue({ of: ({ copies }) => 'x'.repeat(copies === 3 ? 5 : copies), sql: (book) => \`repeat('x', case \${book}.copies when 3 then 5 else \${book}.copies end)\`, maxBytes: 6 }),
    }),`,
  ),
  addTo(
    IN_QUERY,
    `counts: t.intList({
      description: 'Numbers.', extensions: listOf(1, ['first']),
      args: { first: t.arg.int({ description: 'How many.' }) },
      resolve: async () => new Set([1, 2, 3]),
    }),`,
  ),
  addTo(
    IN_QUERY,
    `shelves: t.field({
      description: 'Several.', ...aggregate(Shelf, () => sql\`select n as books, n as copies from generate_series(1, 2) as n\`),
    }),`,
  ),
  addTo(
    IN_QUERY,
    `rename: t.string({
      description: 'Writes.', nullable: true, extensions: { maxBytes: 6 },
      resolve: async (_root, _args, { source: { db } }) => {
        await db.query(sql\`with a as (select 1), b as (update books set title = 'Lost' returning id) select id from b\`);
        return null;
      },
    }),`,
  ),
  addTo(IN_BOOK, reader('readBy')),
  addTo(IN_QUERY, reader('reader')),
  addTo(
    IN_MUTATION,
    `touchBook: t.field({
      type: Book, description: 'Returns a book and who asks.', scope, errors: { types: [books.notFound] },
      args: { id: t.arg.id({ required: true, description: 'The id.' }) },
      resolve: async (_root, { id }, { source, caller }) => ({
        ...(await books.required.load(source, parseId(id, 'id'))), title: String(caller.scopes),
      }),
    }),`,
  ),
];

it('a store with a field that Prisma would read does not start, and says why', async () => {
  const count = "t.exposeString('name'), works: t.relationCount('books')";
  const copy = copyBookshop([['author.ts', "t.exposeString('name')", count]]);
  onTestFinished(() => rmSync(copy, { recursive: true }));
  await expect(importBookshop(copy)).rejects.toThrow(
    'Author.works would be read by Prisma, which the gateway does not use: use relatedRow, listBy or countBy.',
  );
});

const isAboutStatements = (warning: unknown): boolean =>
  typeof warning === 'object' && warning !== null && 'statements' in warning;

describe('a resolver', () => {
  let copy: string;
  let gateway: Gateway;
  beforeAll(async () => {
    copy = copyBookshop(EDITS);
    const bookshop = await importBookshop(copy);
    gateway = await startGateway({}, openNew(bookshop), {}, bookshop);
    await gateway.data(
      'mutation { createBook(input: { title: "One", isbn: "1111111111111", copies: 3 }) { __typename } }',
    );
  });
  afterAll(async () => {
    await gateway.close();
    rmSync(copy, { recursive: true });
  });

  /** Expects one masked error, and the cause in the log. */
  function expectCause(
    errors: unknown,
    path: readonly (string | number)[],
    cause: string | RegExp,
  ): void {
    const extensions = { code: 'INTERNAL_SERVER_ERROR', status: 500 };
    expect(errors).toMatchObject([{ path, extensions }]);
    expect(JSON.stringify(errors)).not.toMatch(cause);
    const message = expect.stringMatching(cause);
    expect(gateway.loggedErrors.splice(0)).toMatchObject([{ err: { message }, path }]);
  }

  const NO_CALLER =
    'Only the resolver of a field of Mutation has a `caller`: callers share the results of other fields.';
  const UPDATE = 'mutation { updateBook(id: "1", input: { copies: 3 }) { ... on Book';
  const TWO_COUNTS = 'Query.counts returned 3 items, but declares at most 2.';
  const NOTE = 'Book.note returned 7 bytes as JSON, but its maxBytes is 6.';
  const TAGS = 'Book.tags returned 3 items, but declares at most 2.';
  const LATER = 'Book.later returned 7 bytes as JSON, but its maxBytes is 6.';
  const WRITES = 'A statement that writes needs `write`.';
  // The second sentence is PostgreSQL's, once the query is compiled.
  const SEVERAL = /returned 2 rows instead of one|more than one row returned/;

  it.each<[string, string, (string | number)[], string | RegExp]>([
    ['reads the caller', '{ reader }', ['reader'], NO_CALLER],
    ['reads it for a mutation', `${UPDATE} { readBy } } }`, ['updateBook', 'readBy'], NO_CALLER],
    ['returns more than an argument says', '{ counts(first: 2) }', ['counts'], TWO_COUNTS],
    ['returns more than declared', `${UPDATE} { tags } } }`, ['updateBook', 'tags'], TAGS],
    ['returns a long string', `${UPDATE} { note } } }`, ['updateBook', 'note'], NOTE],
    ['lists long strings', `${UPDATE} { later } } }`, ['updateBook', 'later', 0], LATER],
    [
      'computes it in SQL',
      '{ books(first: 1) { nodes { note } } }',
      ['books', 'nodes', 0, 'note'],
      NOTE,
    ],
    ['writes with a statement for reading', '{ rename }', ['rename'], WRITES],
    ['reads an aggregate with several rows', '{ shelves { books } }', ['shelves'], SEVERAL],
  ])('that %s fails each time, and the log says why', async (_what, query, path, cause) => {
    for (let time = 0; time <= TIMES_UNTIL_COMPILED; time += 1) {
      letASecondPass();
      const { errors } = await gateway.graphql(query);
      expectCause(errors, path, cause);
    }
    const { books } = await gateway.data('{ books(first: 1) { nodes { title } } }');
    expect(books.nodes).toEqual([{ title: 'One' }]);
  });

  it('that returns more than its field declares for a subscription fails, and the log says why', async () => {
    const events = await openEvents(gateway, 'subscription { bookChanged { after { tags } } }');
    await gateway.data(
      'mutation { createBook(input: { title: "Two", isbn: "2222222222222", copies: 3 }) { __typename } }',
    );
    const { errors } = (await events.result()) ?? {};
    events.disconnect();
    expectCause(errors, ['bookChanged', 'after', 'tags'], TAGS);
  });

  it('returns a value of the declared size', async () => {
    await gateway.data(`${UPDATE.replace('3', '2')} { copies } } }`);
    expect(await gateway.data('{ counts(first: 3) book(id: "1") { tags later note } }')).toEqual({
      counts: [1, 2, 3],
      book: { tags: ['ΩΩ', 'ΩΩ'], later: ['four', 'tag'], note: 'xx' },
    });
  });

  /** Returns the warnings about the number of a query's statements; the query must succeed. */
  const warningsOf = async (name: string, query: string): Promise<unknown[]> => {
    await gateway.data(`query ${name} ${query}`);
    const isLogged = (line: unknown) =>
      expect.objectContaining({ operationName: name }).asymmetricMatch(line);
    await expect.poll(() => gateway.loggedLines.some(isLogged)).toBe(true);
    // On a busy machine, statements are slow.
    return gateway.loggedWarnings.splice(0).filter(isAboutStatements);
  };

  describe('that reads a row for each row of a list', () => {
    beforeAll(() =>
      gateway.data(
        `mutation { createBooks(input: [${Array.from({ length: 20 }, (_, i) => `{ title: "Many", isbn: "9${String(i).padStart(12, '0')}" }`).join()}]) { __typename } }`,
      ),
    );

    it('succeeds, and the log has a warning', async () => {
      expect(await warningsOf('Slow', '{ books(first: 20) { nodes { stock } } }')).toMatchObject([
        { operationName: 'Slow', statements: 21 },
      ]);
    });

    it('causes no warning if it uses a loader, or if the rows are few', async () => {
      expect(await warningsOf('Loaded', '{ books(first: 20) { nodes { byline } } }')).toEqual([]);
      expect(await warningsOf('Few', '{ books(first: 5) { nodes { stock } } }')).toEqual([]);
    });
  });

  it('of a mutation that inserts rows returns the errors of the inputs with their lines', async () => {
    const one = '{ title: "Three", isbn: "3333333333333" }';
    const two = '{ title: "Four", isbn: "4444444444444" }';
    const lost = '{ title: "Lost", isbn: "6666666666666", authorId: "99" }';
    for (const [books, created] of [
      [one, {}],
      [`${two}, ${one}`, { code: 'BOOK_ISBN_TAKEN', line: 1 }],
      [`${two}, ${lost}`, { code: 'AUTHOR_NOT_FOUND', line: 1 }],
    ] as const) {
      const query = `mutation { created: createBooks(input: [${books}]) { ... on Error { code }
        ... on BookIsbnTaken { line } ... on AuthorNotFound { line } } }`;
      expect(await gateway.data(query)).toEqual({ created });
    }
  });

  it('of a mutation has the caller', async () => {
    const { touchBook } = await gateway.data(
      'mutation { touchBook(id: "1") { ... on Book { title } } }',
    );
    expect(touchBook).toEqual({ title: 'all' });
  });
});

it('only the resolvers of mutations have the caller, by their types', () => {
  const { builder } = builderOf({});
  const description = 'Whether the caller is known.';
  const define = (): void => {
    builder.queryField('isKnown', (t) =>
      t.boolean({
        description,
        // @ts-expect-error -- a query has no caller
        resolve: (_root, _args, { caller }) => caller.subject !== undefined,
      }),
    );
    builder.mutationField('isKnown', (t) =>
      t.boolean({
        description,
        scope: 'any',
        resolve: (_root, _args, { caller }) => caller.subject !== undefined,
      }),
    );
  };
  expect(define).not.toThrow();
});
