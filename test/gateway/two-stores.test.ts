import { graphql, printSchema } from 'graphql';
import { describe, expect, it } from 'vitest';

import { createRepository, createTables, filterBy } from '../../src/gateway/index.ts';
import { petStore } from '../../src/store/index.ts';
import type PrismaTypes from './bookshop/generated/pothos.ts';
import { ENUMS, TABLES } from './bookshop/generated/tables.ts';
import { bookshop } from './bookshop/index.ts';

it('a store with an unindexed filter or sort order does not start', () => {
  const scanned = createTables<PrismaTypes>(TABLES, ENUMS)('Book');
  const sorts = { id: 'Order by id.' };
  const byCopies = { copies: filterBy.value(scanned.fields.copies, { list: 'Only so many.' }) };
  expect(() => createRepository(scanned, { inputs: {}, filters: () => byCopies, sorts })).toThrow(
    'books.copies',
  );
  expect(() =>
    createRepository(scanned, { inputs: {}, filters: () => ({}), sorts: { copies: 'By copies.' } }),
  ).toThrow('A list of books needs an index that begins with books.copies.');
});

describe('two stores in one process', () => {
  it('have their own types, error codes and changes', () => {
    expect(bookshop.changedTypes).toEqual(['Author', 'Book']);
    expect(Object.keys(bookshop.errorCodes)).toEqual([
      'AUTHOR_NOT_FOUND',
      'BOOK_NOT_FOUND',
      'BOOK_ISBN_TAKEN',
      'BOOK_SOLD_OUT',
    ]);
    expect(printSchema(bookshop.schema)).not.toMatch(/\bPet|PET_/);
    expect(printSchema(petStore.schema)).not.toMatch(/\bBook|BOOK_/);
  });

  it('find only their own nodes', async () => {
    const { errors: [error] = [] } = await graphql({
      schema: bookshop.schema,
      source: '{ node(nodeId: "Pet_1") { nodeId } }',
      contextValue: { caller: { scopes: 'all' } },
    });
    expect(error?.message).toBe('nodeId: is not a nodeId of this store.');
  });
});
