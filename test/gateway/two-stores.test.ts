import { graphql, type GraphQLSchema, printSchema } from 'graphql';
import { describe, expect, it } from 'vitest';

import type { PrismaLike } from '../../src/gateway/database/model.ts';
import { byId, createBuilder, createTables, errorOf, isAmong } from '../../src/gateway/index.ts';
import { petStore } from '../../src/store/index.ts';

const COLUMN = { isEnum: false, isNullable: false, default: null } as const;
const books = createTables({})({
  name: 'books',
  id: 'id',
  columns: {
    id: { ...COLUMN, column: 'id', type: 'BigInt' },
    title: { ...COLUMN, column: 'title', type: 'String' },
  },
  foreignKeys: {},
} as const);
const bookById = byId('book', books);

class BookNotFound extends errorOf('BOOK_NOT_FOUND', 404, 'The book does not exist.') {
  constructor(id: bigint) {
    super(`There is no book ${id}.`);
  }
}

interface Types {
  PrismaTypes: object;
  Client: PrismaLike;
  Scope: 'books:write';
}

/** Creates the schema of another store, as src/store/ creates that of the pet store. */
function createShop() {
  const shop = createBuilder<Types>({
    datamodel: { datamodel: { models: {} } },
    errors: [BookNotFound],
  });
  const Book = shop.builder.objectRef<{ id: bigint; title: string }>('Book').implement({
    interfaces: [shop.Node],
    fields: (t) => ({
      nodeId: t.id(shop.nodeId('Book', bookById, ({ id }) => id)),
      title: t.exposeString('title'),
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
  shop.followRows({
    type: 'Book',
    object: Book,
    loader: bookById,
    toRow: books.fromRecorded,
    field: 'book',
    idOf: 'book',
    names: { one: 'a book', short: 'book', all: 'books' },
    filter: shop.builder.inputType('BookFilter', { fields: (t) => ({ ids: t.idList() }) }),
    toFilter: () => isAmong('id', null),
    subscription: 'bookChanged',
    changesOf: 'books',
  });
  return shop.createSchema();
}

const shop = createShop();
const run = (schema: GraphQLSchema, source: string) =>
  graphql({ schema, source, contextValue: { caller: { scopes: 'all' } } });

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
