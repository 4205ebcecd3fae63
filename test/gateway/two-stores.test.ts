import { expect, it } from 'vitest';

import { createTables } from '../../src/gateway/index.ts';
import { petStore } from '../../src/store/index.ts';
import type PrismaTypes from './bookshop/generated/pothos.ts';
import { ENUMS, TABLES } from './bookshop/generated/tables.ts';
import { bookshop } from './bookshop/index.ts';

it('a null in a recorded row is null, and a column that the row does not have has its default', () => {
  const { fields, fromRecorded } = createTables<PrismaTypes>(
    {
      ...TABLES,
      Book: {
        ...TABLES.Book,
        columns: {
          ...TABLES.Book.columns,
          summary: { ...TABLES.Book.columns.summary, default: 'None.' },
        },
      },
    },
    ENUMS,
  )('Book');
  const recorded = Object.fromEntries(
    Object.values(fields).map(({ ownColumn }) => [ownColumn, null]),
  );
  expect(fromRecorded(recorded).summary).toBeNull();
  const { summary: _summary, ...older } = recorded;
  expect(fromRecorded(older).summary).toBe('None.');
});

it('two stores in one process have their own types, error codes and changes', () => {
  expect([...bookshop.repositories.keys()]).toEqual(['Author', 'Book']);
  expect(Object.keys(bookshop.errorCodes)).toEqual([
    'AUTHOR_NOT_FOUND',
    'BOOK_NOT_FOUND',
    'BOOK_ISBN_TAKEN',
    'BOOK_DAY_TAKEN',
    'BOOK_SOLD_OUT',
  ]);
  const types = [bookshop, petStore].map(({ schema }) => Object.keys(schema.getTypeMap()).join());
  expect(types[0]).not.toMatch(/\bPet/);
  expect(types[1]).not.toMatch(/\bBook/);
});
