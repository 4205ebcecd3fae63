import { graphql, type GraphQLSchema, printSchema } from 'graphql';
import { describe, expect, it } from 'vitest';

import type { PrismaLike } from '../../src/gateway/database/model.ts';
import {
  createBuilder,
  createRepository,
  createTables,
  errorOf,
  filterBy,
} from '../../src/gateway/index.ts';
import { petStore } from '../../src/store/index.ts';

const COLUMN = {
  description: 'A value of a book.',
  isNullable: false,
  maxLength: null,
  isIndexed: true,
  default: null,
} as const;
const TABLES = {
  Book: {
    type: 'Book',
    name: 'books',
    description: 'A book.',
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

const BookBurnt = errorOf('BOOK_BURNT', 410, 'The book is burnt.', (id: bigint) => ({
  message: `Book ${id} is burnt.`,
}));

const books = createRepository(createTables({})(TABLES.Book), {
  inputs: { title: {}, releasedOn: {} },
  filters: ({ id, releasedOn }) => ({
    releasedOn: filterBy.range(releasedOn, { list: 'Only books of this time.' }),
    ids: filterBy.oneOf(id, { changes: 'Only these books.' }),
  }),
  sorts: { id: 'Order by id.', releasedOn: 'Order by the day of the release.' },
  errors: [BookBurnt],
});

interface Types {
  PrismaTypes: object;
  Client: PrismaLike;
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
      title: t.exposeString('title'),
      releasedOn: t.expose('releasedOn', { type: 'Date', nullable: true }),
    }),
  });
  const fields = shop.fieldsOf(Book, books);
  shop.builder.mutationField('burnBook', (t) =>
    t.field({
      type: Book,
      description: 'Burns a book.',
      authScopes: { scope: 'books:write' },
      errors: { types: [books.notFound, BookBurnt] },
      resolve: () => {
        throw new BookBurnt(1n);
      },
    }),
  );
  shop.builder.queryField('books', (t) => t.connection(...fields.list));
  fields.follow('bookChanged');
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
  const sorts = { id: 'Order by id.' };
  const byTitle = { title: filterBy.value(scanned.fields.title, { list: 'Only this title.' }) };
  expect(() => createRepository(scanned, { inputs: {}, filters: () => byTitle, sorts })).toThrow(
    'books.title',
  );
  expect(() =>
    createRepository(scanned, { inputs: {}, filters: () => ({}), sorts: { title: 'By title.' } }),
  ).toThrow('A list of books needs an index that begins with books.title.');
});

describe('two stores in one process', () => {
  it('have their own types, error codes and changes', () => {
    expect(shop.changedTypes).toEqual(['Book']);
    expect(Object.keys(shop.errorCodes)).toEqual(['BOOK_NOT_FOUND', 'BOOK_BURNT']);
    expect(printSchema(shop.schema)).not.toMatch(/\bPet|PET_/);
    expect(printSchema(petStore.schema)).not.toMatch(/\bBook|BOOK_/);
  });

  it('return their own errors', async () => {
    const query = 'mutation { burnBook { ... on BookBurnt { code status message } } }';
    expect((await run(shop.schema, query)).data).toEqual({
      burnBook: { code: 'BOOK_BURNT', status: 410, message: 'Book 1 is burnt.' },
    });
  });

  it('find only their own nodes', async () => {
    const [error] = (await run(shop.schema, '{ node(nodeId: "Pet_1") { nodeId } }')).errors ?? [];
    expect(error?.message).toBe('nodeId: is not a nodeId of this store.');
  });
});
