import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { beforeAll, describe, expect, inject, it, vi } from 'vitest';

import { readExamples } from '../../src/gateway/site/graphiql.ts';
import { changesQuery } from '../../src/gateway/site/home.ts';
import { bookshop } from '../gateway/bookshop/index.ts';
import type { DatabaseKind } from '../support/databases.ts';
import { lintOpenApi } from '../support/lint-openapi.ts';
import { type EventStream, openEvents } from '../support/live.ts';
import { post } from '../support/post.ts';
import { createDatabaseOn, dropDatabaseOn } from '../support/postgres.ts';
import { killPrograms, type Program, startProgram } from '../support/program.ts';
import { AUTH_BY_SECRET, withScopes } from '../support/tokens.ts';

/** Creates an empty database for a program; returns the program's environment variable, and a function that removes the database. */
async function createEmpty(kind: DatabaseKind) {
  if (kind === 'PGlite') {
    const folder = await mkdtemp(join(tmpdir(), 'bookshop-'));
    const remove = () => rm(folder, { recursive: true, force: true });
    return { variables: { DATA_DIR: folder }, remove };
  }
  const { server } = inject('emptyPostgres');
  const url = await createDatabaseOn(server);
  return { variables: { DATABASE_URL: url }, remove: () => dropDatabaseOn(server, url) };
}

/** Expects a change to the book with an ISBN as the next result. */
async function expectBook(stream: EventStream, isbn: string): Promise<void> {
  expect(await stream.data()).toEqual({ bookChanged: { after: { isbn } } });
  stream.disconnect();
}

describe.each(inject('databases'))('the bookshop on %s', (kind) => {
  let program: Program;
  let headers: Record<string, string>;

  beforeAll(async () => {
    const { variables, remove } = await createEmpty(kind);
    const settings = { ...AUTH_BY_SECRET, AUTH_READ: 'open', SAMPLE_STORE: 'true' };
    program = await startProgram({ ...variables, ...settings, LOG_LEVEL: 'debug' }, 'bookshop');
    headers = await withScopes('books:write', 'metrics');
    return async () => {
      await killPrograms();
      await remove();
    };
  });

  const ask = async (query: string) => (await post(program, { query }, { headers })).json();
  const data = async (query: string) => {
    const { data: found, errors } = await ask(query);
    expect(errors).toBeUndefined();
    return found;
  };
  const page = async (path: string): Promise<string> => {
    const response = await fetch(`${program.url}${path}`, {
      headers: { ...headers, accept: 'text/html, */*' },
    });
    expect(response.status).toBe(200);
    return response.text();
  };

  const createBook = (fields: string) =>
    data(`mutation { createBook(input: { title: "Copy", ${fields} }) {
      ... on Error { code status message } } }`);
  const createAuthor = (name: string) =>
    data(`mutation { createAuthor(input: { name: "${name}" }, idempotencyKey: "key") {
      ... on Author { id } ... on Error { code } } }`);
  const sellBook = () =>
    data('mutation { sellBook(id: "1") { ... on Book { copies } ... on Error { code } } }');
  const release = (day: string) =>
    data(`mutation { updateBook(id: "1", input: { releasedOn: "${day}" }) { __typename } }`);
  const follow = (after?: string) =>
    openEvents(
      program,
      `subscription ($after: String) { bookChanged(after: $after) {
        cursor kind before { copies } after { releasedOn } book { author { name } } } }`,
      { variables: { after } },
    );

  /** Repeats a query until it is compiled, always expecting the same result; returns the SQL of the last execution. */
  async function statementsOf(query: string): Promise<string[]> {
    const first = await data(query);
    const repeat = async (): Promise<number> => {
      const response = await post(program, { query }, { headers });
      expect(await response.json()).toEqual({ data: first });
      const requestId = response.headers.get('x-request-id');
      // The other log lines of a request come before its last line.
      await vi.waitFor(() =>
        expect(program.entries).toContainEqual(expect.objectContaining({ requestId })),
      );
      return program.entries.length;
    };
    const before = await repeat();
    await repeat();
    return program.entries.slice(before).flatMap(({ sql }) => (typeof sql === 'string' ? sql : []));
  }

  it('fills a new store with sample data, so that the examples on the start page return the results shown there', async () => {
    const { example, mutation } = bookshop.pages;
    for (const { query, result } of [example, mutation]) {
      expect(await ask(query)).toEqual(JSON.parse(result));
    }
  });

  it.each([
    '{ authors { nodes { name books { totalCount nodes { title author { name } } } } } }',
    ...['TITLE', 'RELEASED_ON'].map(
      (field) => `{ books(filter: { releasedOn: { from: "1974-01-01" } },
        orderBy: { field: ${field} }) { nodes { title releasedOn author { name } } } }`,
    ),
  ])('reads a list with one statement once its query is compiled: %s', async (query) => {
    expect(await statementsOf(query)).toHaveLength(1);
  });

  it('pages through a list sorted by a nullable date', async () => {
    await data(`mutation {
      a: createBook(input: { title: "Old", isbn: "9780000000001", releasedOn: "1900-01-01" }) { __typename }
      b: createBook(input: { title: "Later", isbn: "9780000000002" }) { __typename } }`);
    const titles: string[] = [];
    for (let after: string | null = null; ;) {
      const { books } = await data(`{ books(first: 1, after: ${JSON.stringify(after)},
        orderBy: { field: RELEASED_ON }) { nodes { title author { name } } pageInfo { hasNextPage endCursor } } }`);
      titles.push(books.nodes[0].title);
      after = books.pageInfo.endCursor;
      if (!books.pageInfo.hasNextPage) break;
    }
    expect(titles).toEqual(['Old', 'The Dispossessed', 'Later']);
  });

  it('returns an error for a duplicate value, a missing related row, a broken rule and a failed CHECK, whatever the constraints are called', async () => {
    expect(await createBook('isbn: "9780061054884"')).toEqual({
      createBook: {
        code: 'BOOK_ISBN_TAKEN',
        status: 409,
        message: 'Another book has the `isbn` 9780061054884.',
      },
    });
    expect(await createBook('isbn: "9780000000003", authorId: "99"')).toMatchObject({
      createBook: { code: 'AUTHOR_NOT_FOUND' },
    });
    expect(await createBook('isbn: "1"')).toMatchObject({
      createBook: { code: 'INVALID_INPUT', message: 'Isbn must have 13 digits.' },
    });
    expect(await createBook('isbn: "9780000000003", copies: -1')).toMatchObject({
      createBook: {
        code: 'INVALID_INPUT',
        message: 'Input must satisfy the constraint copies_are_not_negative.',
      },
    });
  });

  it('rejects a mutation with two books for one day, which must be unique, and names the day', async () => {
    const { createBooks } = await data(`mutation { createBooks(input: [
      { title: "A", isbn: "9780000000011", day: "2027-05-01" }
      { title: "B", isbn: "9780000000012", day: "2027-05-02" }
      { title: "C", isbn: "9780000000013", day: "2027-05-02" }
    ]) { ... on Error { code message } } }`);
    expect(createBooks).toEqual({
      code: 'BOOK_DAY_TAKEN',
      message: 'Another book has the `day` 2027-05-02.',
    });
  });

  it('returns the first result for a repeated idempotency key, or an error if the input differs', async () => {
    const first = await createAuthor('Octavia E. Butler');
    expect(await createAuthor('Octavia E. Butler')).toEqual(first);
    expect(await createAuthor('Ann Leckie')).toEqual({
      createAuthor: { code: 'IDEMPOTENCY_CONFLICT' },
    });
  });

  it('sells copies of a book until none is left', async () => {
    for (const copies of [2, 1, 0]) expect(await sellBook()).toEqual({ sellBook: { copies } });
    expect(await sellBook()).toEqual({ sellBook: { code: 'BOOK_SOLD_OUT' } });
  });

  it('sends each change to a subscription, which can resume after a cursor', async () => {
    await release('1974-05-02');
    // Open transactions of other tests delay changes.
    const cursor = await vi.waitFor(
      async () => {
        const { changes } = await data(
          '{ changes(last: 1) { nodes { cursor ... on BookChange { after { releasedOn } } } } }',
        );
        const [last] = changes.nodes;
        expect(last.after?.releasedOn).toBe('1974-05-02');
        return last.cursor;
      },
      { timeout: 30_000, interval: 20 },
    );
    const live = await follow(cursor);
    await release('1974-05-03');
    const { bookChanged } = await live.data();
    expect(bookChanged).toMatchObject({
      kind: 'UPDATED',
      before: { copies: 0 },
      after: { releasedOn: '1974-05-03' },
      book: { author: { name: 'Ursula K. Le Guin' } },
    });
    live.disconnect();
    await release('1974-05-04');
    await release('1974-05-05');
    const resumed = await follow(bookChanged.cursor);
    const days = [await resumed.data(), await resumed.data()].map(
      (change) => change.bookChanged.after.releasedOn,
    );
    expect(days).toEqual(['1974-05-04', '1974-05-05']);
    resumed.disconnect();
  });

  it('rejects a query whose cost exceeds the limit', async () => {
    const nested = `{ authors(first: 100) { nodes { books(first: 100) { nodes { author {
      books(first: 100) { nodes { title } } } } } } } }`;
    const { errors } = await ask(nested);
    expect(errors[0].extensions.code).toBe('QUERY_TOO_COSTLY');
  });

  it("requires a mutation's scope", async () => {
    const response = await post(
      program,
      { query: 'mutation { sellBook(id: "1") { ... on Forbidden { scope } } }' },
      { headers: await withScopes('read') },
    );
    expect(await response.json()).toEqual({ data: { sellBook: { scope: 'books:write' } } });
  });

  it('returns the latest changes for the start page, with the columns of the changed rows', async () => {
    const { changes } = await data(changesQuery(bookshop));
    expect(changes.nodes).toContainEqual(
      expect.objectContaining({
        type: 'BookChange',
        BookAfter: expect.objectContaining({ id: expect.any(String), title: expect.any(String) }),
      }),
    );
  });

  it('finds a book by its global id', async () => {
    expect(await data('{ node(nodeId: "Book_1") { ... on Book { title } } }')).toEqual({
      node: { title: 'The Dispossessed' },
    });
  });

  it('serves a book over REST, and an error if there is no such book', async () => {
    expect(JSON.parse(await page('/books/2'))).toEqual({
      id: 2,
      title: 'Old',
      releasedOn: '1900-01-01',
    });
    const missing = await fetch(`${program.url}/books/99`);
    expect(await missing.json()).toEqual({
      code: 'BOOK_NOT_FOUND',
      message: 'There is no book 99.',
      status: 404,
    });
  });

  it('describes its REST route in the OpenAPI document', async () => {
    const text = await page('/openapi.json');
    expect(await lintOpenApi(text)).toEqual([]);
    expect(Object.keys(JSON.parse(text).paths)).toEqual(['/books/{bookId}']);
  });

  it('serves GraphiQL with examples that run', async () => {
    const html = await page('/graphql');
    expect(html).toContain('<title>GraphiQL · Bookshop</title>');
    expect(html).toContain('The newest books');
    for (const { query } of await readExamples(bookshop.pages.examples)) await data(query);
  });

  it.each(['/', '/docs', '/docs/moving', '/schema.graphql', '/openapi.json'])(
    'mentions books, but nothing of the pet store, at %s',
    async (path) => {
      const text = await page(path);
      expect(text).toMatch(/book/i);
      expect(text).not.toMatch(/\bpets?\b|categor|inventor|\bstock\b/i);
    },
  );

  it('exposes metrics, those of a connection pool only on PostgreSQL', async () => {
    const metrics = await page('/metrics');
    expect(metrics).toContain('database_up 1');
    expect(metrics.includes('database_pool_max')).toBe(kind === 'PostgreSQL');
  });

  it('filters live and older changes alike by a day, and by a related row, which may be missing', async () => {
    const { changes } = await data('{ changes(last: 1) { pageInfo { endCursor } } }');
    const after = changes.pageInfo.endCursor;
    const subscribe = (...filters: string[]) =>
      Promise.all(
        filters.map((filter) =>
          openEvents(
            program,
            `subscription ($after: String) {
              bookChanged(after: $after, filter: { ${filter} }) { after { isbn } } }`,
            { variables: { after } },
          ),
        ),
      );
    const filters = ['day: "2027-06-01"', 'author: "Ursula K. Le Guin"'];
    const live = await subscribe(...filters, 'day: "2027-06-02"');
    await createBook('isbn: "9780000000021"');
    await createBook('isbn: "9780000000022", day: "2027-06-01", authorId: "1"');
    // More changes than are kept in memory.
    for (const start of [9_790_000_001_000, 9_790_000_002_000, 9_790_000_003_000]) {
      const input = Array.from({ length: 400 }, (_, n) => ({
        title: 'Copy',
        isbn: `${start + n}`,
      }));
      const query = `mutation ($input: [NewBook!]!) { createBooks(input: $input) { __typename } }`;
      const response = await post(program, { query, variables: { input } }, { headers });
      expect(await response.json()).not.toHaveProperty('errors');
    }
    await createBook('isbn: "9780000000023", day: "2027-06-02"');
    const isbns = ['9780000000022', '9780000000022', '9780000000023'];
    for (const [index, stream] of live.entries()) await expectBook(stream, isbns[index] ?? '');
    for (const stream of await subscribe(...filters)) await expectBook(stream, '9780000000022');
  });

  it('exits with code 0 on SIGTERM', async () => {
    expect(await program.stop()).toBe(0);
  });
});

it("the bookshop's first migration is a copy of the SQL file that creates the gateway's tables", async () => {
  const migration = new URL('20270101000000_gateway/migration.sql', bookshop.migrations);
  expect(await readFile(migration, 'utf8')).toBe(
    await readFile('src/gateway/database/gateway-tables.sql', 'utf8'),
  );
});
