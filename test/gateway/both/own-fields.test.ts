import { isObjectType } from 'graphql';
import { raw } from 'sql-template-tag';
import { beforeAll, describe, expect, it } from 'vitest';

import { openNew, withExtensions } from '../../support/bookshop.ts';
import { describeOnDatabases } from '../../support/databases.ts';
import { expectData, gateway, startOther, useGateway, useOther } from '../../support/gateway.ts';
import { post, TIMES_UNTIL_COMPILED } from '../../support/post.ts';
import { untilSettled } from '../../support/settled.ts';
import { AUTH_BY_SECRET, withScopes } from '../../support/tokens.ts';
import { bookshop } from '../bookshop/index.ts';

const fieldsOf = (name: string) => {
  const type = bookshop.schema.getType(name);
  return isObjectType(type) ? type.getFields() : {};
};

/** Returns the weight of a field; undefined if it declares none. */
const costOf = (type: string, name: string) =>
  fieldsOf(type)[name]?.extensions.directives?.cost?.weight;

const expectFailure = async (query: string, path: unknown[]): Promise<void> => {
  const { data, errors } = await gateway.graphql(query);
  expect(errors).toMatchObject([{ path, extensions: { code: 'INTERNAL_SERVER_ERROR' } }]);
  expect(JSON.stringify(data)).toContain('"releasedOn":null');
};

/** Returns the error of a book that can't be created. */
const fails = async (fields: string): Promise<unknown> =>
  (
    await gateway.data(`mutation { made: createBook(input: { title: "Three", ${fields} }) {
      ... on Error { code message } } }`)
  ).made;

describeOnDatabases(() => {
  useGateway({}, openNew(bookshop), {}, bookshop);
  const scoped = withExtensions(bookshop, 'copies', { scope: 'stock:read' });
  const guarded = useOther(AUTH_BY_SECRET, {}, scoped);
  beforeAll(() =>
    gateway.data(`mutation {
      a: createAuthor(input: { name: "Ada" }) { __typename }
      b: createAuthor(input: { name: "Bo" }) { __typename }
      c: createBook(input: { title: "One", isbn: "1111111111111", copies: 2, authorId: "1" }) { __typename }
      d: createBook(input: { title: "Two", isbn: "2222222222222", copies: 0, authorId: "1" }) { __typename }
    }`),
  );

  it('fields that a store computes, from a row or from the number of related rows, are compiled with the rest', async () => {
    const query = '{ books { nodes { isSoldOut } } authors { nodes { bookCount } } }';
    const books = { nodes: [{ isSoldOut: false }, { isSoldOut: true }] };
    const authors = { nodes: [{ bookCount: 2 }, { bookCount: 0 }] };
    expect(await expectData(query, { books, authors })).toBe(1);
  });

  it('a computed value that is null only in its SQL is sent, with one warning for each operation', async () => {
    const sql = { kind: 'value', value: (book: string) => `nullif(${book}.copies = 0, true)` };
    const wrong = await startOther({}, {}, withExtensions(bookshop, 'isSoldOut', { sql }));
    const sold = '{ books { nodes { isSoldOut } } }';
    for (let time = 0; time <= TIMES_UNTIL_COMPILED + 1; time += 1) {
      const nodes = [{ isSoldOut: false }, { isSoldOut: true }];
      expect(await wrong.data(sold)).toEqual({ books: { nodes } });
      await wrong.data('{ book(id: 1) { isSoldOut } }');
    }
    expect(wrong.loggedWarnings).toEqual([expect.objectContaining({ fields: ['Query.books'] })]);
  });

  it('groups are by the values of nullable columns too, and by the days and months of days', async () => {
    await gateway.db.write(
      raw(`insert into books (title, isbn, released_on, copies, author_id) values
      ('A', '3333333333333', '2024-02-29', 5, 2), ('B', '4444444444444', '2024-02-01', 6, null)`),
    );
    const query = `{ books {
      byAuthor: groups(by: AUTHOR_ID) { nodes { authorId author { name } count sum { copies } } }
      byMonth: groups(by: [RELEASED_ON_MONTH]) { nodes { releasedOnMonth releasedOnDay author { name } count } }
      byDay: groups(by: [RELEASED_ON_DAY, AUTHOR_ID]) { nodes { releasedOnDay authorId } }
    } }`;
    const byAuthor = [
      { authorId: '1', author: { name: 'Ada' }, count: 2, sum: { copies: 2 } },
      { authorId: '2', author: { name: 'Bo' }, count: 1, sum: { copies: 5 } },
      { authorId: null, author: null, count: 1, sum: { copies: 6 } },
    ];
    const others = { releasedOnDay: null, author: null, count: 2 };
    const byMonth = ['2024-02-01', null].map((releasedOnMonth) => ({ releasedOnMonth, ...others }));
    const byDay = [
      { releasedOnDay: null, authorId: '1' },
      { releasedOnDay: '2024-02-01', authorId: null },
      { releasedOnDay: '2024-02-29', authorId: '2' },
    ];
    const groups = { byAuthor, byMonth, byDay };
    const named = Object.entries(groups).map(([name, nodes]) => [name, { nodes }]);
    await expectData(query, { books: Object.fromEntries(named) });
    await gateway.db.write(raw(`delete from books where length(title) = 1`));
  });

  it('a day that only SQL can store is an error of its field in every response, and is logged', async () => {
    for (const day of ['infinity', '-infinity', '10000-01-01']) {
      await gateway.db.write(raw(`update books set released_on = '${day}' where id = 2`));
      for (let time = 0; time <= TIMES_UNTIL_COMPILED; time += 1) {
        await expectFailure('{ book(id: "2") { releasedOn } }', ['book', 'releasedOn']);
        const place = ['books', 'nodes', 1, 'releasedOn'];
        await expectFailure('{ books(first: 2) { nodes { id releasedOn } } }', place);
      }
      const update = 'updateBook(id: "2", input: { copies: 0 }) { ... on Book { releasedOn } }';
      await expectFailure(`mutation { ${update} }`, ['updateBook', 'releasedOn']);
      await untilSettled(gateway.db);
      const log = 'changes(last: 1) { nodes { ... on BookChange { after { id releasedOn } } } }';
      await expectFailure(`{ ${log} }`, ['changes', 'nodes', 0, 'after', 'releasedOn']);
      expect((await gateway.rest('/books/2')).status).toBe(500);
    }
    expect(gateway.loggedErrors.length).toBeGreaterThan(0);
    gateway.loggedErrors.length = 0;
    await gateway.db.write(raw('update books set released_on = null where id = 2'));
  });

  it('a value that must be unique, a related row and a CHECK have an error of their own', async () => {
    expect(await fails('isbn: "1111111111111"')).toEqual({
      code: 'BOOK_ISBN_TAKEN',
      message: 'Another book has the `isbn` 1111111111111.',
    });
    expect(await fails('isbn: "3333333333333", authorId: "99"')).toMatchObject({
      code: 'AUTHOR_NOT_FOUND',
    });
    expect(await fails('isbn: "3333333333333", copies: -1')).toEqual({
      code: 'INVALID_INPUT',
      message: 'Input must satisfy the constraint copies_are_not_negative.',
    });
  });

  describe('an aggregate of a store', () => {
    it('is compiled with the rest of the query', async () => {
      const query =
        '{ a: shelf(authorId: "1") { books copies } b: shelf(authorId: "2") { n: copies __typename } books { totalCount } }';
      const [a, b] = [
        { books: 2, copies: 2 },
        { n: 0, __typename: 'Shelf' },
      ];
      expect(await expectData(query, { a, b, books: { totalCount: 2 } })).toBe(1);
    });

    it('depends on the arguments of each request', async () => {
      const query = 'query ($id: ID!) { shelf(authorId: $id) { copies } books { totalCount } }';
      const ids = Array.from({ length: 12 }, (_item, index) => String(1 + (index % 2)));
      for (let time = 0; time <= TIMES_UNTIL_COMPILED; time += 1) {
        const results = await Promise.all(ids.map((id) => gateway.data(query, { id })));
        const copies = ids.map((id) => (id === '1' ? 2 : 0));
        expect(results.map(({ shelf }) => shelf.copies)).toEqual(copies);
      }
    });

    it('gets numbers of any type, whichever earlier requests passed to the same query', async () => {
      const query = 'query ($least: Float!) { plentiful(least: $least) { books } }';
      const books: number[] = [];
      for (const least of [-1, 1, 0, 1.5, 3e9, 2.5])
        books.push((await gateway.data(query, { least })).plentiful.books);
      expect(books).toEqual([2, 1, 2, 1, 0, 0]);
    });

    it('checks its arguments before the operation is executed', async () => {
      const { errors, data } = await gateway.graphql('{ shelf(authorId: "x") { books } }');
      expect([data, errors?.[0]?.extensions]).toMatchObject([undefined, { code: 'INVALID_ID' }]);
    });
  });

  it.each([
    ['the row that it wrote', 'id title ... on Node { id nodeId __typename }', []],
    ['a value of another row', 'byline', ['read']],
    ['another row', 'author { name }', ['read']],
    ['a field with a scope of its own', 'copies', ['stock:read']],
    ['both', 'copies author { name }', ['stock:read', 'read']],
  ])('a mutation needs no more scopes than what it returns: %s', async (_what, fields, needed) => {
    const query = `mutation { sellBook(id: "9") { ... on Book { ${fields} } ... on Error { code } } }`;
    const ask = async (scopes: string[]) =>
      post(guarded, { query }, { headers: await withScopes('books:write', ...scopes) });
    const response = await ask(needed);
    expect(await response.json()).toEqual({ data: { sellBook: { code: 'BOOK_NOT_FOUND' } } });
    for (const scope of needed) {
      expect((await ask(needed.filter((other) => other !== scope))).status).toBe(403);
    }
  });

  it('a string field costs what the length of its column implies', () => {
    expect([costOf('Book', 'summary'), costOf('Book', 'isbn')]).toEqual(['8', undefined]);
  });

  it('a field of Query with a resolver of its own costs 100, unless it declares another cost', () => {
    const names = ['shelf', 'isIsbn', 'book', 'node', 'nodes'];
    const costs = ['100', '100', undefined, '100', '400'];
    expect(names.map((name) => costOf('Query', name))).toEqual(costs);
  });
});
