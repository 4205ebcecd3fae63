import { rmSync } from 'node:fs';

import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

import { readConfig } from '../../src/gateway/config/config.ts';
import { checkDatabase } from '../../src/gateway/schema/check-database.ts';
import { createLog } from '../../src/gateway/telemetry/log.ts';
import { copyBookshop, type Edit, importBookshop, openPgliteOf } from '../support/bookshop.ts';
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

const EDITS: readonly Edit[] = [
  ['book.ts', '  Id,', '  Id,\n  listOf,'],
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

const TITLE_IN_GROUPS: Edit = [
  'book.ts',
  '({ authorId, releasedOn, copies }) => ({',
  '({ authorId, releasedOn, copies, title }) => ({',
];

describe('a store with a mistake does not start, and says why', () => {
  it.each<[string, Edit[], string]>([
    [
      'a misspelt scope',
      [['book.ts', 'fields.create(), scope', "fields.create(), scope: 'books:wirte'"]],
      "Mutation.createBook has the scope books:wirte, which is not in the builder's `scopes`: books:write.",
    ],
    [
      'a scope of a field of Query',
      [['book.ts', 't.field(fields.row)', 't.field({ ...fields.row, scope })']],
      'Query.book must not have the option scope, which only mutations have: set extensions.scope.',
    ],
    [
      'a misspelt scope of a field',
      [
        [
          'author.ts',
          "t.exposeString('name')",
          "t.exposeString('name', { extensions: { scope: 'raed' } })",
        ],
      ],
      "Author.name has the scope raed, which is not in the builder's `scopes`: books:write.",
    ],
    [
      'a count that Prisma would read',
      [
        [
          'author.ts',
          "t.exposeString('name')",
          "t.exposeString('name'), works: t.relationCount('books')",
        ],
      ],
      'Author.works would be read by Prisma, which the gateway does not use: use relatedRow, listBy or countBy.',
    ],
    [
      'a list whose size is replaced by a cost',
      [
        ['book.ts', '  Id,', '  Id,\n  listOf,'],
        addTo(
          IN_QUERY,
          `counts: t.intList({
            description: 'Numbers.',
            extensions: { ...listOf(100), directives: { cost: { weight: '9' } } },
            resolve: () => [],
          }),`,
        ),
      ],
      'Query.counts needs the maximum size of its list: extensions: listOf(100), for example, or ' +
        'extensions: { directives: { ...listOf(100).directives, cost } } with a cost.',
    ],
    [
      'groups without keys',
      [
        ['book.ts', 'authorId: groupBy.value(authorId),', ''],
        ['book.ts', 'releasedOnDay: groupBy.day(releasedOn),', ''],
        ['book.ts', 'releasedOnMonth: groupBy.month(releasedOn),', ''],
      ],
      'Groups of books need a key.',
    ],
    [
      'groups by a string',
      [['book.ts', 'groupBy.value(authorId)', 'groupBy.value(title)'], TITLE_IN_GROUPS],
      'groupBy.value needs an enum, a boolean or a foreign key, unlike books.title.',
    ],
    [
      'groups by the column of a row that need not exist',
      [
        [
          'book.ts',
          'authorId: groupBy.value(authorId)',
          `authorId: groupBy.related({ table: authors, by: 'author_id' }, authorId)`,
        ],
      ],
      "Groups of books can't use books.author_id: it must be a column of authors, to which each author_id must refer.",
    ],
    [
      'groups by the column of a row to which its column does not refer',
      [
        [
          'book.ts',
          'authorId: groupBy.value(authorId)',
          `authorId: groupBy.related({ table: authors, by: 'id' }, { ...authorId, column: 'authors.author_id' })`,
        ],
      ],
      "Groups of books can't use authors.author_id: it must be a column of authors, to which each id must refer.",
    ],
    [
      'groups by a column of another table',
      [['book.ts', 'groupBy.day(releasedOn)', 'groupBy.day({ ...releasedOn, column: "x.y" })']],
      "Groups of books can't use x.y: it must be a column of books.",
    ],
    [
      'groups with an id whose name is that of the object',
      [['book.ts', 'authorId: groupBy.value(authorId)', 'author: groupBy.value(authorId)']],
      'Groups of books have two values named AUTHOR: rename a key; that of an id must end with Id.',
    ],
    [
      'groups with a key that is named like a sum',
      [['book.ts', 'releasedOnDay: groupBy', 'copies: groupBy']],
      'Groups of books have two values named COPIES: rename a key; that of an id must end with Id.',
    ],
    [
      'a type whose list no field returns',
      [['author.ts', '  authors: t.connection(...fields.list),\n', '']],
      'No field returns AuthorConnection. If it is the list of a type, add t.connection(...fields.list) to Query.',
    ],
    [
      'a related row that is read by a column that does not refer to it',
      [
        [
          'book.ts',
          "relatedRow(authors.required, 'authorId')",
          "relatedRow(authors.required, 'id')",
        ],
      ],
      'Book.author is read by id, which does not refer to authors.',
    ],
    [
      'a filter by a related row that is read by a column that does not refer to it',
      [
        [
          'book.ts',
          "{ table: authors, by: 'author_id' },\n      filterBy",
          "{ table: authors, by: 'copies' },\n      filterBy",
        ],
      ],
      'The filter author of books reads authors by copies, which does not refer to it.',
    ],
    [
      'a filter by a column of another table',
      [['book.ts', 'filterBy.value(day,', 'filterBy.value(authors.fields.number,']],
      "The filter day of books can't use authors.id: it must be a column of books.",
    ],
    [
      'a subscription to something other than changes',
      [
        addTo(
          'builder.mutationFields((t) => ({',
          `builder.subscriptionField('tick', (t) =>
            t.int({ description: 'Ticks.', subscribe: async function* () { yield 1; }, resolve: (n) => n as number }));`,
        ),
      ],
      "Subscription.tick can't be served: subscriptions follow the change log, and each type has one of its own.",
    ],
  ])('%s', async (_what, edits, message) => {
    const copy = copyBookshop(edits);
    onTestFinished(() => rmSync(copy, { recursive: true }));
    await expect(importBookshop(copy)).rejects.toThrow(new Error(message));
  });

  it.each([
    [
      'a misspelt column',
      '.copis = 0',
      /^The SQL of Book.isSoldOut fails: column t1.copis does not exist.$/,
    ],
    [
      'another type',
      '.copies',
      /^The SQL of Book.isSoldOut has the type integer, but must have boolean.$/,
    ],
  ])('a derived value whose SQL has %s', async (_what, condition, message) => {
    const copy = copyBookshop([['book.ts', '.copies = 0`', `${condition}\``]]);
    onTestFinished(() => rmSync(copy, { recursive: true }));
    const store = await importBookshop(copy);
    const log = createLog('error');
    const db = await openPgliteOf(store)(readConfig({}), log);
    await expect(checkDatabase(db, store, log)).rejects.toThrow(message);
    await db.close();
  });
});

const isAboutStatements = (warning: unknown): boolean =>
  typeof warning === 'object' && warning !== null && 'statements' in warning;

describe('a resolver', () => {
  let copy: string;
  let gateway: Gateway;
  beforeAll(async () => {
    copy = copyBookshop(EDITS);
    const bookshop = await importBookshop(copy);
    gateway = await startGateway({}, openPgliteOf(bookshop), {}, bookshop);
    await gateway.data(
      'mutation { createBook(input: { title: "One", isbn: "1111111111111" }) { __typename } }',
    );
  });
  afterAll(async () => {
    await gateway.close();
    rmSync(copy, { recursive: true });
  });

  /** Expects one masked error, and the cause in the log. */
  function expectCause(errors: unknown, path: readonly (string | number)[], message: string): void {
    const extensions = { code: 'INTERNAL_SERVER_ERROR', status: 500 };
    expect(errors).toMatchObject([{ path, extensions }]);
    expect(JSON.stringify(errors)).not.toContain(message);
    expect(gateway.loggedErrors.splice(0)).toMatchObject([{ err: { message }, path }]);
  }

  const NO_CALLER =
    'Only the resolver of a field of Mutation has a `caller`: callers share the results of other fields.';

  it.each([
    ['a query', '{ reader }', ['reader']],
    [
      'the result of a mutation',
      'mutation { updateBook(id: "1", input: { copies: 2 }) { ... on Book { readBy } } }',
      ['updateBook', 'readBy'],
    ],
  ])('that reads the caller fails, and the log says why: in %s', async (_place, query, path) => {
    const { errors } = await gateway.graphql(query);
    expectCause(errors, path, NO_CALLER);
  });

  const UPDATE = 'mutation { updateBook(id: "1", input: { copies: 3 }) { ... on Book';
  const TWO_COUNTS = 'Query.counts returned 3 items, but declares at most 2.';
  const NOTE = 'Book.note returned 7 bytes as JSON, but its maxBytes is 6.';
  const TAGS = 'Book.tags returned 3 items, but declares at most 2.';
  const LATER = 'Book.later returned 7 bytes as JSON, but its maxBytes is 6.';

  it.each<[string, string, (string | number)[], string]>([
    ['a list with a size in an argument', '{ counts(first: 2) }', ['counts'], TWO_COUNTS],
    ['a list in the result of a mutation', `${UPDATE} { tags } } }`, ['updateBook', 'tags'], TAGS],
    ['a string in a list', `${UPDATE} { later } } }`, ['updateBook', 'later', 0], LATER],
    ['a string', `${UPDATE} { note } } }`, ['updateBook', 'note'], NOTE],
  ])(
    'that returns more than its field declares fails, and the log says why: %s',
    async (_what, query, path, message) => {
      const { errors } = await gateway.graphql(query);
      expectCause(errors, path, message);
    },
  );

  it('that returns more than its field declares fails, and the log says why: in the result of a subscription', async () => {
    const events = await openEvents(gateway, 'subscription { bookChanged { after { tags } } }');
    await gateway.data(
      'mutation { createBook(input: { title: "Two", isbn: "2222222222222", copies: 3 }) { __typename } }',
    );
    const { errors } = (await events.result()) ?? {};
    events.disconnect();
    expectCause(errors, ['bookChanged', 'after', 'tags'], TAGS);
  });

  it('that returns more than its field declares fails, and the log says why: however often a query is sent', async () => {
    await gateway.data(`${UPDATE} { copies } } }`);
    for (let time = 0; time <= TIMES_UNTIL_COMPILED; time += 1) {
      letASecondPass();
      const { errors } = await gateway.graphql('{ books(first: 1) { nodes { note } } }');
      expectCause(errors, ['books', 'nodes', 0, 'note'], NOTE);
    }
  });

  it('that writes with a statement for reading fails, and the log says why', async () => {
    const { errors } = await gateway.graphql('{ rename }');
    expectCause(errors, ['rename'], 'A statement that writes needs `write`.');
    expect(await gateway.data('{ books(first: 1) { nodes { title } } }')).toEqual({
      books: { nodes: [{ title: 'One' }] },
    });
  });

  it('that reads an aggregate with several rows fails, and the log says why, however often a query is sent', async () => {
    for (let time = 0; time <= TIMES_UNTIL_COMPILED; time += 1) {
      letASecondPass();
      const { errors } = await gateway.graphql('{ shelves { books } }');
      expectCause(errors, ['shelves'], 'A statement returned 2 rows instead of one.');
    }
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
