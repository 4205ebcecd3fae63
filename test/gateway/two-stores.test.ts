import { MapperKind, mapSchema } from '@graphql-tools/utils';
import { buildSchema, type GraphQLSchema, parse } from 'graphql';
import { describe, expect, it } from 'vitest';

import {
  StoreBuilder,
  createRepository,
  createTables,
  filterBy,
  listOf,
} from '../../src/gateway/index.ts';
import { toWhere } from '../../src/gateway/list/condition.ts';
import { type Operation, ParsedDocument } from '../../src/gateway/operation/operation.ts';
import { checkStore } from '../../src/gateway/schema/check-store.ts';
import { printSchema } from '../../src/gateway/schema/print.ts';
import { petStore } from '../../src/store/index.ts';
import type PrismaTypes from './bookshop/generated/pothos.ts';
import { getDatamodel } from './bookshop/generated/pothos.ts';
import { ENUMS, TABLES } from './bookshop/generated/tables.ts';
import { bookshop } from './bookshop/index.ts';

it('a store with an unindexed filter or sort order does not start', () => {
  const scanned = createTables<PrismaTypes>(TABLES, ENUMS)('Book');
  const sorts = { id: 'Order by id.' };
  const byCopies = {
    copies: filterBy.value(scanned.fields.copies, { only: 'with so many copies' }),
  };
  expect(() => createRepository(scanned, { inputs: {}, filters: () => byCopies, sorts })).toThrow(
    'books.copies',
  );
  expect(() =>
    createRepository(scanned, { inputs: {}, filters: () => ({}), sorts: { copies: 'By copies.' } }),
  ).toThrow(
    'A list of books needs an index that starts with books.copies. Add `@@index([copies, id])` to its model in ' +
      'schema.prisma, and a CREATE INDEX to a migration.',
  );
});

it('a filter by a related row whose table also has the referring column is an error', () => {
  const table = createTables<PrismaTypes>(TABLES, ENUMS);
  const [books, authors] = [table('Book'), table('Author')];
  const repository = createRepository(authors, {
    inputs: {},
    filters: () => ({}),
    sorts: { number: 'By number.' },
  });
  const byName = filterBy.value(authors.fields.name, { only: 'by an author' });
  const filterWith = (by: string) => filterBy.related({ table: repository, by }, byName);
  expect(() => filterWith('name')).toThrow('authors has a column of this name, too');
  expect(() => filterWith(books.fields.authorId.ownColumn)).not.toThrow();
});

it("a document's only operation is one object, requested by its name or without it", () => {
  const document = new ParsedDocument(bookshop.schema, parse('query A { books { totalCount } }'));
  expect(document.find('A')).toBe(document.find());
  expect(document.find('B')).toBeUndefined();
});

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

it('an enum value that contains a quote is one SQL literal', () => {
  const field = createTables<PrismaTypes>(TABLES, ENUMS)('Book').fields.title;
  const [where] = toWhere([{ op: 'constant', field, value: "don't" }], 'id');
  expect(where?.sql).toBe("books.title = 'don''t'");
});

/** Returns the operation of a document. */
function operationIn(text: string, schema = bookshop.schema): Operation {
  const operation = new ParsedDocument(schema, parse(text)).find();
  if (!operation) throw new Error('The document has no operation.');
  return operation;
}

/** Whether a mutation that selects these fields of a book needs the scope `read`. */
const readsAfter = (fields: string): boolean => scopesAfter(fields).includes('read');

/** Returns the scopes that a mutation that selects these fields of a book needs besides its own. */
const scopesAfter = (fields: string, schema?: GraphQLSchema): string[] => [
  ...operationIn(`mutation { sellBook(id: "1") { ... on Book { ${fields} } } }`, schema).usage
    .scopes,
];

const check = (schema: GraphQLSchema): void =>
  checkStore({ schema, tables: TABLES, scopes: [], repositories: new Map() });

describe('a string field of a second store', () => {
  it('has the cost and the maximum size that its column implies', () => {
    const operation = operationIn('{ books(first: 1) { nodes { summary } } }');
    const { bytes } = operation.estimate({});
    const longest = { books: { nodes: [{ summary: '\u0001'.repeat(2000) }] } };
    expect(bytes).toBeGreaterThan(JSON.stringify(longest).length);
    expect(printSchema(bookshop.schema)).toContain('summary: String @cost(weight: "8")');
  });

  it('prevents its store from starting if its column has no maximum length', () => {
    const schema = buildSchema('type Query { motto: String }');
    expect(() => check(schema)).toThrow('Query.motto needs a column with a length');
  });
});

describe('a list without a maximum size', () => {
  it.each([
    ['A.words', 'type Query { a: A } type A { words: [Int!]! }'],
    [
      'I.words',
      'type Query { i: I } interface I { words: [Int] } type A implements I { words: [Int] }',
    ],
    ['Pets.pets', 'type Query { a: U } union U = Pets type Pets { pets: [Query] }'],
  ])('prevents its store from starting: %s', (name, sdl) => {
    expect(() => check(buildSchema(sdl))).toThrow(`${name} needs the maximum size`);
  });

  it('prevents its store from starting unless every field that returns its type has its size', () => {
    const schema = buildSchema('type Query { a: Page b: Page } type Page { nodes: [Int] }');
    const setSize = (name: string, sizedFields: string[]): void => {
      const { directives } = listOf(100);
      const listSize = { ...directives.listSize, sizedFields };
      Object.assign(schema.getQueryType()?.getFields()[name] ?? {}, {
        extensions: { directives: { listSize } },
      });
    };
    setSize('a', ['nodes']);
    setSize('b', ['edges']);
    expect(() => check(schema)).toThrow('Page.nodes needs the maximum size');
    setSize('b', ['edges', 'nodes']);
    expect(() => check(schema)).not.toThrow();
  });

  it('is found when the schema of a store is created', () => {
    const store = new StoreBuilder({
      datamodel: getDatamodel(),
      tables: {},
      scopes: [],
    });
    store.builder.queryField('words', (t) => t.intList({ resolve: () => [] }));
    expect(() => store.createSchema()).toThrow('Query.words needs the maximum size of its list');
  });
});

describe('a mutation of a second store', () => {
  it.each(['byline', 'author { name }'])(
    'requires the read scope to return another row: %s',
    (fields) => expect(readsAfter(fields)).toBe(true),
  );

  it.each(['id title copies', '... on Node { id nodeId __typename }'])(
    'does not require the read scope to return the row that it wrote: %s',
    (fields) => expect(readsAfter(fields)).toBe(false),
  );

  it('requires the scope of a field in the row that it wrote', () => {
    const schema = mapSchema(bookshop.schema, {
      [MapperKind.OBJECT_FIELD]: (config, name) =>
        name === 'copies'
          ? { ...config, extensions: { ...config.extensions, scope: 'stock:read' } }
          : config,
    });
    expect(scopesAfter('title', schema)).toEqual([]);
    expect(scopesAfter('title copies', schema)).toEqual(['stock:read']);
    expect(scopesAfter('copies author { name }', schema)).toEqual(['stock:read', 'read']);
  });
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
  expect(printSchema(bookshop.schema)).not.toMatch(/\bPet|PET_/);
  expect(printSchema(petStore.schema)).not.toMatch(/\bBook|BOOK_/);
});
