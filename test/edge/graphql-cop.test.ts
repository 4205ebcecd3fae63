import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type ClientError, type Gateway, openThatOf, startGateway } from '../support/gateway.ts';

// The requests of https://github.com/dolevf/graphql-cop, and what it reports as a weakness.

let standard: Gateway;
let production: Gateway;
beforeAll(async () => {
  standard = await startGateway();
  const environment = {
    NODE_ENV: 'production',
    AUTH: 'jwt',
    AUTH_SECRET: 'a secret that is long enough for HS256',
    AUTH_ISSUER: 'https://login.example/',
    AUTH_AUDIENCE: 'pet-store',
    AUTH_READ: 'open',
  };
  production = await startGateway(environment, openThatOf(standard));
});
afterAll(async () => {
  await production.close();
  await standard.close();
});

const GATEWAYS: [name: string, find: () => Gateway][] = [
  ['in production', () => production],
  ['with its defaults', () => standard],
];

interface Answer {
  status: number;
  text: string;
  body: { data?: Record<string, unknown>; errors?: ClientError[] };
}

async function ask(gateway: Gateway, path: string, init?: RequestInit): Promise<Answer> {
  const response = await gateway.rest(path, init);
  const text = await response.text();
  return { status: response.status, text, body: JSON.parse(text) };
}

const post = (gateway: Gateway, body: unknown): Promise<Answer> =>
  ask(gateway, '/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: '*/*' },
    body: JSON.stringify(body),
  });

const codesOf = ({ body }: Answer): string[] =>
  (body.errors ?? []).map(({ extensions }) => extensions.code);

const INTROSPECTION = '{ __schema { types { name fields { name } } } }';
const CIRCULAR =
  'query { __schema { types { fields { type { fields { type { fields { type { fields { type { name } } } } } } } } } } }';
const FRAGMENTS =
  'query { __schema { ...A } } fragment A on __Schema { __typename ...B } fragment B on __Schema { ...A }';
const MISSPELT = 'query { __schema { directive } }';

describe.each(GATEWAYS)('a gateway %s', (_name, find) => {
  it('rejects 101 aliases', async () => {
    const aliases = Array.from({ length: 101 }, (_, index) => `alias${index}:__typename \n`);
    const answer = await post(find(), { query: `query { ${aliases.join('')} }` });
    expect(answer.body.data).toBeUndefined();
    expect(codesOf(answer)).toEqual(['DOCUMENT_TOO_LARGE']);
    expect(answer.body.errors?.[0]?.extensions.status).toBe(400);
  });

  it('rejects a list of operations', async () => {
    const list = Array.from({ length: 11 }, () => ({ query: 'query { __typename }' }));
    const answer = await post(find(), list);
    expect(answer).toMatchObject({ status: 400, body: { errors: [{}] } });
    expect(codesOf(answer)).toEqual(['BAD_REQUEST']);
  });

  it('does not report each of ten unknown directives', async () => {
    const { body } = await post(find(), { query: `query { __typename ${'@aa'.repeat(10)} }` });
    expect(body.data).toBeUndefined();
    expect(body.errors?.length).toBeGreaterThan(0);
    expect(body.errors?.length).toBeLessThan(10);
  });

  it('rejects a field that is selected 500 times', async () => {
    const answer = await post(find(), { query: `query { ${'__typename \n'.repeat(500)} }` });
    expect(answer.body.data).toBeUndefined();
    expect(codesOf(answer)).toEqual(['DOCUMENT_TOO_LARGE']);
  });

  it('rejects circular introspection', async () => {
    const { body } = await post(find(), { query: CIRCULAR });
    expect(body.data).toBeUndefined();
    expect(body.errors).not.toEqual([]);
  });

  it('rejects circular fragments', async () => {
    const { body } = await post(find(), { query: FRAGMENTS });
    expect(body.data).toBeUndefined();
    expect(body.errors).not.toEqual([]);
  });

  // graphql-cop reports this as a weakness; GraphQL over HTTP allows it. Pages of other sites can't.
  it('executes a query by GET, but not from another site', async () => {
    const path = `/graphql?query=${encodeURIComponent('{__typename}')}`;
    expect((await ask(find(), path)).body).toEqual({ data: { __typename: 'Query' } });
    const forged = await ask(find(), path, { headers: { 'Sec-Fetch-Site': 'cross-site' } });
    expect(forged.status).toBe(403);
    expect(codesOf(forged)).toEqual(['FORBIDDEN']);
  });

  it('rejects a mutation by GET', async () => {
    const path = `/graphql?query=${encodeURIComponent('mutation {__typename}')}`;
    const answer = await ask(find(), path);
    expect(answer.status).toBe(405);
    expect(answer.body.data).toBeUndefined();
  });

  it('rejects a form, and an operation in the URL of a POST', async () => {
    const form = new URLSearchParams({ query: 'query {__typename}' });
    for (const answer of [
      await ask(find(), '/graphql', { method: 'POST', body: form }),
      await ask(find(), `/graphql?${form.toString()}`, { method: 'POST' }),
      await ask(find(), `/graphql?${form.toString()}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      }),
    ]) {
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.body.data).toBeUndefined();
    }
  });

  it('adds no traces', async () => {
    const { body } = await post(find(), { query: 'query { __typename }' });
    expect(body).toEqual({ data: { __typename: 'Query' } });
  });

  it('has no stack trace in the error of a document that does not parse', async () => {
    const answer = await post(find(), { query: 'qwerty cop { abc }' });
    const [error] = answer.body.errors ?? [];
    expect(error?.extensions).toEqual({ code: 'GRAPHQL_PARSE_FAILED', status: 400 });
    expect(answer.text).not.toMatch(/exception|stack|node_modules|\.[jt]s:\d/i);
  });

  it('has no page for developers at the usual paths', async () => {
    for (const path of ['/graphiql', '/playground', '/console', '/graphql', '/altair']) {
      const { status, text } = await ask(find(), path);
      expect(status).toBeGreaterThanOrEqual(400);
      expect(text).not.toMatch(/graphiql|playground|altair/i);
    }
  });
});

describe('a gateway in production', () => {
  it('rejects introspection', async () => {
    const answer = await post(production, { query: INTROSPECTION });
    expect(answer.body.data).toBeUndefined();
    expect(new Set(codesOf(answer))).toEqual(new Set(['GRAPHQL_VALIDATION_FAILED']));
  });

  it('suggests no names', async () => {
    for (const query of [MISSPELT, '{ pest { totalCount } }']) {
      const { text } = await post(production, { query });
      expect(text).toContain('Cannot query field');
      expect(text).not.toContain('Did you mean');
    }
  });

  it('has no GraphiQL', async () => {
    const headers = { accept: 'text/html,*/*;q=0.8' };
    const { status, text } = await ask(production, '/graphql', { headers });
    expect(status).toBe(400);
    expect(text).not.toMatch(/graphiql/i);
  });
});
