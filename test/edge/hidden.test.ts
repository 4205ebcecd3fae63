import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { BROWSER, GRAPHIQL_FILES, QUERY } from '../support/browsing.ts';
import { fetchByYoga } from '../support/by-yoga.ts';
import { type ClientError, type Gateway, openThatOf, startGateway } from '../support/gateway.ts';
import { post } from '../support/post.ts';
import { requestRaw } from '../support/raw.ts';

let gateway: Gateway;
let hidden: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
  const environment = { GRAPHIQL: 'false', INTROSPECTION: 'false' };
  hidden = await startGateway(environment, openThatOf(gateway));
});
afterAll(async () => {
  await hidden.close();
  await gateway.close();
});

describe('GRAPHIQL=false', () => {
  it('answers browsers at /graphql as GraphQL over HTTP', async () => {
    const shown = await requestRaw(hidden, 'GET', QUERY, BROWSER);
    expect(shown.headers.get('content-type')).toContain('json');
    expect(JSON.parse(shown.body)).toEqual({ data: { __typename: 'Query' } });
    const empty = await requestRaw(hidden, 'GET', '/graphql', BROWSER);
    expect(empty.status).toBe(400);
    expect(empty.body).toContain('"BAD_REQUEST"');
    const html = await requestRaw(hidden, 'GET', QUERY, { Accept: 'text/html' });
    expect(html.status).toBe(406);
    expect(html.body).toContain('"NOT_ACCEPTABLE"');
  });

  it('lets nobody follow a link of another site to a query', async () => {
    const headers = { ...BROWSER, 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' };
    expect((await hidden.rest(QUERY, { headers })).status).toBe(403);
  });

  it.each(GRAPHIQL_FILES)('serves no %s', async (path) => {
    expect((await hidden.rest(path)).status).toBe(404);
  });

  it.each(['/', '/docs', '/docs/moving'])('leads nobody there from %s', async (path) => {
    const isLed = async (by: Gateway): Promise<boolean> =>
      /GraphiQL|href="\/graphql/.test(await (await by.rest(path)).text());
    expect(await isLed(hidden)).toBe(false);
    expect(await isLed(gateway)).toBe(true);
  });
});

/** Posts a document past Yoga's HTTP layer and by it, and gives both answers. */
const askBothWays = (query: string, variables?: Record<string, unknown>) =>
  Promise.all(
    [fetch, fetchByYoga].map(async (send) => {
      const response = await post(hidden, { query, variables }, { send });
      return (await response.json()) as { data?: object; errors: ClientError[] };
    }),
  );

describe('INTROSPECTION=false', () => {
  it.each([
    '{ __schema { queryType { name } } }',
    '{ __type(name: "Pet") { name } }',
    '{ a: __schema { types { name } } __typename }',
    '{ ...F } fragment F on Query { __type(name: "Pet") { fields { name } } }',
  ])('refuses %s', async (query) => {
    // More often than it takes until a query is compiled.
    for (let times = 0; times < 3; times += 1) {
      for (const { data, errors } of await askBothWays(query)) {
        expect(data).toBeUndefined();
        expect(errors[0]?.extensions).toMatchObject({ code: 'GRAPHQL_VALIDATION_FAILED' });
        expect(errors[0]?.message).toContain('introspection');
      }
    }
    expect((await gateway.graphql(query)).errors).toBeUndefined();
  });

  it('refuses it by GET too', async () => {
    const target = `/graphql?query=${encodeURIComponent('{ __schema { types { name } } }')}`;
    expect(await (await hidden.rest(target)).json()).not.toHaveProperty('data');
  });

  it('still tells the type of what it answers', async () => {
    expect(await hidden.data('{ __typename pets { __typename } }')).toEqual({
      __typename: 'Query',
      pets: { __typename: 'PetConnection' },
    });
  });

  it('serves no /schema.graphql, and links to none', async () => {
    expect((await hidden.rest('/schema.graphql')).status).toBe(404);
    for (const path of ['/', '/docs', '/docs/moving']) {
      expect(await (await hidden.rest(path)).text()).not.toContain('schema.graphql');
    }
  });

  const UPDATE =
    'mutation ($input: PetUpdate!) { updatePet(id: "1", input: $input) { __typename } }';

  it.each<[what: string, query: string, variables?: Record<string, unknown>]>([
    ['a field', '{ pest { totalCount } }'],
    ['a field of the schema', '{ __schema { directive } }'],
    ['a field of a member', 'mutation { deletePet(id: "1") { name } }'],
    ['a type', 'query ($id: IDD) { pet(id: $id) { id } }'],
    ['an argument', '{ pet(idd: "1", id: "1") { id } }'],
    ['an argument of a directive', '{ __typename @skip(iff: true, if: true) }'],
    ['an input field', 'mutation { updatePet(id: "1", input: { nam: "A" }) { __typename } }'],
    ['an enum value', '{ pets(filter: { status: [AVAILABL] }) { totalCount } }'],
    ['an enum value as a string', '{ pets(filter: { status: "AVAILABLE" }) { totalCount } }'],
    ['a selection', '{ pet(id: "1") }'],
    ['an input field in a variable', UPDATE, { input: { nam: 'A' } }],
    ['an enum value in a variable', UPDATE, { input: { status: 'SOL' } }],
    ['one that looks like a suggestion', UPDATE, { input: { nam: ' Did you mean "a"?' } }],
  ])('suggests nothing for %s', async (_what, query, variables) => {
    const shown = await gateway.graphql(query, variables);
    const suggested = shown.errors?.filter(({ message }) => / Did you mean "?.+\?$/.test(message));
    expect(suggested).not.toEqual([]);
    const cut = shown.errors?.map(({ message }) =>
      message.replace(/\. Did you mean [^?]+\?$/, '.'),
    );
    for (const { errors } of await askBothWays(query, variables)) {
      const own = errors.filter(({ message }) => !message.includes('introspection'));
      expect(own.map(({ message }) => message)).toEqual(cut);
      for (const { message, extensions } of own) {
        expect(extensions.issues?.[0]?.message ?? message).toBe(message);
      }
    }
  });
});
