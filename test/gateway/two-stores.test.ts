import { graphql, type GraphQLSchema, printSchema } from 'graphql';
import { describe, expect, it } from 'vitest';

import {
  createBuilder,
  createRepository,
  createTables,
  errorOf,
  filterBy,
} from '../../src/gateway/index.ts';
import { petStore } from '../../src/store/index.ts';

const COLUMN = {
  isEnum: false,
  isNullable: false,
  maxLength: null,
  isIndexed: true,
  default: null,
} as const;
const TABLES = {
  Book: {
    type: 'Book',
    name: 'books',
    id: 'id',
    columns: {
      id: { ...COLUMN, column: 'id', type: 'BigInt' },
      title: { ...COLUMN, column: 'title', type: 'String', maxLength: 100 },
      releasedOn: { ...COLUMN, column: 'released_on', type: 'Date', isNullable: true },
    },
    foreignKeys: {},
    uniqueKeys: {},
  },
} as const;

class BookNotFound extends errorOf(
  'BOOK_NOT_FOUND',
  404,
  'The book does not exist.',
  (id: bigint) => `There is no book ${id}.`,
) {}

const table = createTables({})(TABLES.Book);
const books = createRepository(table, {
  words: { one: 'a book', short: 'book', all: 'books' },
  inputs: {
    title: { create: 'The title.', update: 'The new title.' },
    releasedOn: { create: 'The day of its release.', update: 'The new day of its release.' },
  },
  filters: {
    releasedOn: filterBy.range(table.fields.releasedOn, { list: 'Only books of this time.' }),
    ids: filterBy.oneOf(table.fields.id, { changes: 'Only these books.' }),
  },
  sorts: {
    ID: { by: 'id', description: 'Order by id.' },
    RELEASED_ON: { by: 'releasedOn', description: 'Order by the day of the release.' },
  },
  notFound: BookNotFound,
});

interface Types {
  PrismaTypes: object;
}

interface Book {
  id: bigint;
  title: string;
  releasedOn: Date | null;
}

/** Creates the schema of another store, as src/store/ creates that of the pet store. */
function createShop() {
  const shop = createBuilder<Types>({
    datamodel: { datamodel: { models: {} } },
    tables: TABLES,
  });
  const Book = shop.builder.objectRef<Book>('Book').implement({
    interfaces: [shop.Node],
    fields: (t) => ({
      nodeId: t.id(shop.nodeId(books)),
      title: t.exposeString('title'),
      releasedOn: t.expose('releasedOn', { type: 'Date', nullable: true }),
    }),
  });
  shop.builder.mutationField('burnBook', (t) =>
    t.field({
      type: Book,
      description: 'Burns a book.',
      authScopes: { scope: 'books:write' },
      errors: { types: [BookNotFound] },
      resolve: () => {
        throw new BookNotFound(1n);
      },
    }),
  );
  const lists = shop.listsOf(Book, books);
  shop.builder.queryField('books', (t) => t.connection(...lists.all));
  shop.follow(Book, books, 'bookChanged');
  return shop.createSchema();
}

const shop = createShop();
const run = (schema: GraphQLSchema, source: string) =>
  graphql({ schema, source, contextValue: { caller: { scopes: 'all' } } });

it('a store does not start with a filter or a sort without an index', () => {
  const unindexed = { ...TABLES.Book.columns.title, isIndexed: false } as const;
  const scanned = createTables({})({
    ...TABLES.Book,
    columns: { ...TABLES.Book.columns, title: unindexed },
  });
  const options = {
    words: { one: 'a book', short: 'book', all: 'books' },
    inputs: {},
    notFound: BookNotFound,
  } as const;
  const sorts = { ID: { by: 'id', description: 'Order by id.' } } as const;
  const filters = { title: filterBy.value(scanned.fields.title, { list: 'Only this title.' }) };
  expect(() => createRepository(scanned, { ...options, filters, sorts })).toThrow('books.title');
  const byTitle = { TITLE: { by: 'title', description: 'Order by title.' } } as const;
  expect(() => createRepository(scanned, { ...options, filters: {}, sorts: byTitle })).toThrow(
    'A list of books needs an index that begins with books.title.',
  );
});

describe('two stores in one process', () => {
  it('have their own types, error codes and changes', () => {
    expect(shop.changedTypes).toEqual(['Book']);
    expect(Object.keys(shop.errorCodes)).toEqual(['BOOK_NOT_FOUND']);
    expect(printSchema(shop.schema)).not.toMatch(/\bPet|PET_/);
    expect(printSchema(petStore.schema)).not.toMatch(/\bBook|BOOK_/);
  });

  it('return their own errors', async () => {
    const query = 'mutation { burnBook { ... on BookNotFound { code status message } } }';
    expect((await run(shop.schema, query)).data).toEqual({
      burnBook: { code: 'BOOK_NOT_FOUND', status: 404, message: 'There is no book 1.' },
    });
  });

  it('find only their own nodes', async () => {
    const [error] = (await run(shop.schema, '{ node(nodeId: "Pet_1") { nodeId } }')).errors ?? [];
    expect(error?.message).toBe('nodeId: is not a nodeId of this store.');
  });
});
