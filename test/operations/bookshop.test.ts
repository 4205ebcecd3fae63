import { readFile } from 'node:fs/promises';

import { beforeAll, describe, expect, inject, it, vi } from 'vitest';

import { bookshop } from '../gateway/bookshop/index.ts';
import { useProgramStore } from '../support/databases.ts';
import { post } from '../support/post.ts';
import { type Program, startProgram } from '../support/program.ts';
import { AUTH_BY_SECRET, withScopes } from '../support/tokens.ts';

describe.each(inject('databases'))('the bookshop on %s', (kind) => {
  // An empty folder, or a database that is emptied.
  const store = useProgramStore(kind);
  let program: Program;
  let headers: Record<string, string>;

  beforeAll(async () => {
    if (store.url) await store.run('drop schema public cascade; create schema public');
    const settings = { ...AUTH_BY_SECRET, AUTH_READ: 'open', SAMPLE_STORE: 'true' };
    const variables = { ...store.environment, ...settings, LOG_LEVEL: 'debug' };
    program = await startProgram(variables, 'bookshop');
    headers = await withScopes('books:write', 'metrics');
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

  it('fills a new store with sample data, so that the examples on the start page return the results shown there', async () => {
    const { example, mutation } = bookshop.pages;
    for (const { query, result } of [example, mutation]) {
      expect(await ask(query)).toEqual(JSON.parse(result));
    }
  });

  it('returns the latest changes for the start page, with the columns of the changed rows', async () => {
    await data(
      'mutation { createBook(input: { title: "Copy", isbn: "9780000000001" }) { __typename } }',
    );
    const [, query = ''] = /id="changes" data-query="([^"]+)"/.exec(await page('/')) ?? [];
    // Open transactions of other tests delay changes.
    await vi.waitFor(
      async () => {
        const { changes } = await data(query);
        expect(changes.nodes).toContainEqual(
          expect.objectContaining({
            type: 'BookChange',
            BookAfter: expect.objectContaining({ id: expect.any(String), title: 'Copy' }),
          }),
        );
      },
      { timeout: 30_000, interval: 20 },
    );
  });

  it('describes its REST route in the OpenAPI document', async () => {
    const text = await page('/openapi.json');
    expect(Object.keys(JSON.parse(text).paths)).toEqual(['/books/{bookId}']);
  });

  it('serves GraphiQL with examples that run', async () => {
    const html = await page('/graphql');
    expect(html).toContain('<title>GraphiQL · Bookshop</title>');
    expect(html).toContain('The newest books');
    const queries = [...html.matchAll(/<li><a href="[^"]*\?query=([^"&]+)"/g)];
    expect(queries.length).toBeGreaterThan(1);
    for (const [, query = ''] of queries)
      await data(decodeURIComponent(query.replaceAll('+', ' ')));
  });

  it.each(['/', '/docs', '/docs/moving', '/schema.graphql', '/openapi.json'])(
    'mentions books, but nothing of the pet store, at %s',
    async (path) => {
      const text = await page(path);
      expect(text).toMatch(/book/i);
      expect(text).not.toMatch(/\bpets?\b|categor|inventor|\bstock\b/i);
    },
  );
});

it("the bookshop's first migration is a copy of the SQL file that creates the gateway's tables", async () => {
  const migration = new URL('20270101000000_gateway/migration.sql', bookshop.migrations);
  expect(await readFile(migration, 'utf8')).toBe(
    await readFile('src/gateway/database/gateway-tables.sql', 'utf8'),
  );
});
