import sql from 'sql-template-tag';
import { z } from 'zod';

import {
  aggregate,
  createRepository,
  defineWrite,
  derivedValue,
  errorOf,
  filterBy,
  groupBy,
  Id,
  IDEMPOTENCY_KEY,
  parseId,
  relatedRow,
  type RestRoute,
} from '../../../src/gateway/index.ts';
import { Author, authors } from './author.ts';
import type { Book as Row } from './generated/prisma/client.ts';
import { builder, Node, scope, store, table } from './shop.ts';

const BookSoldOut = errorOf(
  'BOOK_SOLD_OUT',
  409,
  'All copies of the book are sold.',
  (id: bigint) => ({
    message: `All copies of book ${id} are sold.`,
  }),
);

const ISBN = z.string().regex(/^\d{13}$/, 'must have 13 digits.');

const books = createRepository(table('Book'), {
  inputs: {
    title: {},
    isbn: { rule: ISBN },
    releasedOn: {},
    day: {},
    summary: {},
    copies: {},
    authorId: { missing: authors.notFound },
  },
  filters: ({ id, releasedOn, day }) => ({
    releasedOn: filterBy.range(releasedOn, { only: 'that were released in this range' }),
    ids: filterBy.oneOf(id, { only: 'with one of these ids', changes: true }),
    day: filterBy.value(day, { only: 'that are the book of this day', changes: true }),
    author: filterBy.related(
      { table: authors, by: 'author_id' },
      filterBy.value(authors.fields.name, {
        only: 'by the author with this name',
        changes: true,
      }),
    ),
  }),
  sorts: {
    id: 'Order by id.',
    title: 'Order by title.',
    releasedOn: 'Order by release date. Books without a release date count as the latest.',
  },
  groups: ({ authorId, releasedOn, copies }) => ({
    by: {
      authorId: groupBy.value(authorId),
      releasedOnDay: groupBy.day(releasedOn),
      releasedOnMonth: groupBy.month(releasedOn),
    },
    sum: [copies],
  }),
  errors: [BookSoldOut],
});

/**
 * Sells a copy of a book.
 * @throws InvalidInput, BookNotFound, BookSoldOut, IdempotencyConflict
 */
const sellBook = defineWrite({
  operation: 'sellBook',
  args: { id: Id },
  stored: books.normalize,
  write: async ({ query, write }, { id }) => {
    const [sold] = await write<Row>(sql`
      update books set copies = copies - 1 where id = ${id} and copies > 0 returning ${books.all}`);
    if (sold) return sold;
    const [book] = await query(sql`select from books where id = ${id}`);
    throw book ? new BookSoldOut(id) : new books.notFound(id);
  },
});

const Book = builder.prismaObject('Book', {
  interfaces: [Node],
  fields: (t) => ({
    id: t.exposeID('id'),
    title: t.exposeString('title'),
    isbn: t.exposeString('isbn'),
    releasedOn: t.expose('releasedOn', { type: 'Date', nullable: true }),
    summary: t.exposeString('summary', { nullable: true }),
    copies: t.exposeInt('copies'),
    isSoldOut: t.boolean({
      description: 'Whether all copies are sold.',
      ...derivedValue({
        of: ({ copies }: Row) => copies === 0,
        sql: (book) => `${book}.copies = 0`,
      }),
    }),
    author: t.field({
      type: Author,
      nullable: true,
      description: 'The author, or null if unknown.',
      ...relatedRow(authors.required, 'authorId'),
    }),
    byline: t.string({
      description: 'The title, and the name of the author if it is known.',
      extensions: { maxBytes: 2000 },
      resolve: async ({ title, authorId }, _args, { source }) => {
        const author = authorId && (await authors.required.load(source, authorId));
        return author ? `${title} by ${author.name}` : title;
      },
    }),
  }),
});

const fields = store.fieldsOf(Book, books);

const Shelf = builder.objectRef<{ books: number; copies: number }>('Shelf').implement({
  description: 'How much of an author is on the shelf.',
  fields: (t) => ({
    books: t.exposeInt('books', { description: 'The number of books.' }),
    copies: t.exposeInt('copies', { description: 'The number of copies of all books.' }),
  }),
});

builder.queryFields((t) => ({
  book: t.field(fields.row),
  books: t.connection(...fields.list),
  shelf: t.field({
    description: 'The shelf of an author.',
    args: { authorId: t.arg.id({ required: true, description: 'The id of the author.' }) },
    ...aggregate(
      Shelf,
      ({ authorId }: { authorId: string }) => sql`
      select count(*)::int as books, coalesce(sum(copies), 0)::int as copies
      from books where author_id = ${parseId(authorId, 'authorId')}`,
    ),
  }),
  plentiful: t.field({
    description: 'The books with enough copies.',
    args: { least: t.arg.float({ required: true, description: 'At least so many copies.' }) },
    ...aggregate(
      Shelf,
      ({ least }: { least: number }) => sql`
      select count(*)::int as books, coalesce(sum(copies), 0)::int as copies
      from books where copies >= ${least}::float8`,
    ),
  }),
  isIsbn: t.boolean({
    description: 'Whether a book has this ISBN.',
    args: { isbn: t.arg.string({ required: true, description: 'The ISBN.' }) },
    resolve: async (_root, { isbn }, { source: { db } }) =>
      (await db.query(sql`select from books where isbn = ${isbn}`)).length > 0,
  }),
}));

builder.prismaObjectField('Author', 'bookCount', (t) =>
  t.int(fields.countBy(authors, 'authorId', 'The number of books by this author.')),
);

builder.prismaObjectField('Author', 'books', (t) =>
  t.connection(...fields.listBy(authors, 'authorId', 'The books by this author.')),
);

builder.mutationFields((t) => ({
  createBook: t.field({ ...fields.create(), scope }),
  createBooks: t.field({ ...fields.createMany(), scope }),
  updateBook: t.field({ ...fields.update(), scope }),
  updateBooks: t.field({ ...fields.updateMany(), scope }),
  sellBook: t.field({
    type: Book,
    description: 'Sells a copy of a book.',
    scope,
    errors: { types: [books.notFound, BookSoldOut] },
    args: {
      id: t.arg.id({ required: true, description: 'The id of the book.' }),
      idempotencyKey: t.arg.string({ description: IDEMPOTENCY_KEY }),
    },
    resolve: (_root, args, { source, caller }) => sellBook(source.db, args, caller.subject),
  }),
}));

const Params = z.object({ bookId: Id.meta({ description: 'The id of the book.' }) });

/** GET /books/{bookId} */
export const getBook: RestRoute<typeof Params> = {
  name: 'GET /books/{bookId}',
  lifecycle: { stability: 'stable', successor: 'Query.book' },
  tag: { name: 'Books', description: 'The books in the store.' },
  schema: {
    operationId: 'getBook',
    summary: 'Get a book',
    description: 'Returns one book.',
    params: Params,
  },
  result: 'Book',
  hasTag: true,
  errors: ['INVALID_ID', 'BOOK_NOT_FOUND'],
  migration: {
    request: '/books/1',
    query: `query GetBook {
  book(id: "1") {
    id
    title
    releasedOn
  }
}`,
    differences: ['Ids are strings: "1".'],
  },
  get: async (source, { params }) => {
    const { id, title, releasedOn } = await books.required.load(source, params.bookId);
    const day = releasedOn?.toISOString().slice(0, 10);
    // JSON.stringify leaves out what is undefined, and can't write the id.
    const rest = JSON.stringify({ title, releasedOn: day });
    return { json: `{"id":${id},${rest.slice(1)}` };
  },
};

/** The schemas of the OpenAPI document. */
export const RESOURCES = {
  Book: z
    .strictObject({
      id: Id,
      title: books.fields.title.rule,
      releasedOn: books.fields.releasedOn.rule.optional(),
    })
    .meta({
      description: books.description,
      example: { id: 1, title: 'The Dispossessed', releasedOn: '1974-05-01' },
    }),
};
