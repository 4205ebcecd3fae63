import sql from 'sql-template-tag';
import { z } from 'zod';

import {
  argumentsOf,
  createRepository,
  type Database,
  errorOf,
  filterBy,
  Id,
  IDEMPOTENCY_KEY,
  parseArguments,
  relatedRow,
  rowRoute,
  writeOnce,
} from '../../../src/gateway/index.ts';
import { Author, authors } from './author.ts';
import type { Book as Row } from './generated/prisma/client.ts';
import { builder, fieldsOf, Node, scope, table } from './shop.ts';

const BookSoldOut = errorOf('BOOK_SOLD_OUT', 409, 'The shop has no copy.', (id: bigint) => ({
  message: `All copies of book ${id} are sold.`,
}));

const books = createRepository(table('Book'), {
  inputs: {
    title: {},
    isbn: { rule: z.string().regex(/^\d{13}$/, 'must have 13 digits.') },
    releasedOn: {},
    copies: {},
    authorId: { missing: authors.notFound },
  },
  filters: ({ id, releasedOn }) => ({
    releasedOn: filterBy.range(releasedOn, { list: 'Only books that were released then.' }),
    ids: filterBy.oneOf(id, { changes: 'Only books with one of these ids.' }),
  }),
  sorts: {
    id: 'Order by id.',
    title: 'Order by title.',
    releasedOn: 'Order by the day of the release. A book without one comes last.',
  },
  errors: [BookSoldOut],
});

const Arguments = argumentsOf({ id: Id });

/**
 * Sells a copy of a book, once for each idempotency key.
 * @throws InvalidInput, BookNotFound, BookSoldOut, IdempotencyConflict
 */
async function sellBook(db: Database, args: object, caller: string | undefined): Promise<Row> {
  const { id, idempotencyKey: key } = parseArguments(Arguments, args);
  const request = { key, caller, operation: 'sellBook', input: { id }, upgrade: books.upgrade };
  return writeOnce(db, request, async ({ query, write }) => {
    const [sold] = await write<Row>(sql`
      update books set copies = copies - 1 where id = ${id} and copies > 0 returning ${books.all}`);
    if (sold) return sold;
    const [book] = await query(sql`select from books where id = ${id}`);
    throw book ? new BookSoldOut(id) : new books.notFound(id);
  });
}

const Book = builder.prismaObject('Book', {
  interfaces: [Node],
  fields: (t) => ({
    id: t.exposeID('id'),
    title: t.exposeString('title'),
    isbn: t.exposeString('isbn'),
    releasedOn: t.expose('releasedOn', { type: 'Date', nullable: true }),
    copies: t.exposeInt('copies'),
    author: t.field({
      type: Author,
      nullable: true,
      description: 'Its author, or null if it is not known.',
      ...relatedRow(authors.required, 'authorId'),
    }),
  }),
});

const fields = fieldsOf(Book, books);

builder.queryFields((t) => ({
  book: t.field(fields.row),
  books: t.connection(...fields.list),
}));

builder.prismaObjectField('Author', 'books', (t) =>
  t.connection(...fields.listBy('authorId', 'A page of the list of books of this author.')),
);

builder.mutationFields((t) => ({
  createBook: t.field({ ...fields.create(), scope }),
  updateBook: t.field({ ...fields.update(), scope }),
  sellBook: t.field({
    type: Book,
    description: 'Sells a copy of a book.',
    scope,
    errors: { types: [books.notFound, BookSoldOut] },
    args: {
      id: t.arg.id({ required: true, description: 'The id of the book.' }),
      idempotencyKey: t.arg.string({ description: IDEMPOTENCY_KEY }),
    },
    resolve: (_root, args, { loaders, caller }) => sellBook(loaders.db, args, caller.subject),
  }),
}));

/** GET /books/{bookId} */
export const getBook = rowRoute(books, {
  example: { id: 1, title: 'The Dispossessed', releasedOn: '1974-05-01' },
});
