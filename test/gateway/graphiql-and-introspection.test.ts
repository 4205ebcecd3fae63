import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { BROWSER, QUERY, readExamples } from '../support/browsing.ts';
import { type Gateway, gateway, startOther, useGateway, useOther } from '../support/gateway.ts';
import { TIMES_UNTIL_COMPILED } from '../support/post.ts';
import { requestRaw } from '../support/raw.ts';
import { untilSettled } from '../support/settled.ts';

useGateway({ SAMPLE_STORE: 'true' });
const EXAMPLES = 'src/store/pages/examples';
const hidden = useOther({ GRAPHIQL: 'false', INTROSPECTION: 'false' });

const readGraphiql = async (from: Gateway): Promise<string> =>
  (await from.rest('/graphql', { headers: BROWSER })).text();

it('GraphiQL at /graphql lists the examples in a menu, and is configured not to store headers', async () => {
  const html = await readGraphiql(gateway);
  const files = readdirSync(EXAMPLES);
  const found = await readExamples(gateway);
  expect(found).toHaveLength(files.length);
  for (const file of files) {
    const [first = '', ...rest] = readFileSync(join(EXAMPLES, file), 'utf8').split('\n');
    const [, group = '', title = ''] = /^# (.+?): (.+)$/.exec(first) ?? [];
    expect(found).toContainEqual({ title, query: rest.join('\n').trimStart() });
    expect(html.split(`<h2>${group}</h2>`)).toHaveLength(2);
  }
  expect(html).toContain('"shouldPersistHeaders":false');
});

it('each GraphiQL example that is not a subscription returns data from the sample store', async () => {
  await untilSettled(gateway.db);
  for (const { query } of await readExamples(gateway)) {
    // Subscriptions are tested in test/browser/live.test.ts.
    if (/^subscription/m.test(query)) continue;
    const text = JSON.stringify(await gateway.data(query));
    expect(text).not.toMatch(/"code"|:null\}$|\[\]|"totalCount":0/);
  }
});

describe('GRAPHIQL=false', () => {
  it('makes /graphql respond to browsers as to any other client', async () => {
    for (const [target, headers, status, text] of [
      [QUERY, BROWSER, 200, '{"data":{"__typename":"Query"}}'],
      ['/graphql', BROWSER, 400, '"BAD_REQUEST"'],
      [QUERY, { Accept: 'text/html' }, 406, '"NOT_ACCEPTABLE"'],
    ] as const) {
      const response = await requestRaw(hidden, 'GET', target, headers);
      expect(response.status).toBe(status);
      expect(response.body).toContain(text);
    }
  });

  it.each(['/', '/docs', '/guide/api'])('removes the links to GraphiQL from %s', async (path) => {
    const hasLinks = async (by: Gateway): Promise<boolean> =>
      /in GraphiQL<|href="[./]+graphql/.test(await (await by.rest(path)).text());
    expect(await hasLinks(hidden)).toBe(false);
    expect(await hasLinks(gateway)).toBe(true);
  });
});

it('GRAPHIQL=true with INTROSPECTION=false serves GraphiQL without documentation, and tells it not to request the schema', async () => {
  const own = await startOther({ GRAPHIQL: 'true', INTROSPECTION: 'false' });
  expect(await readGraphiql(gateway)).not.toContain('"schema":null');
  expect(await readGraphiql(own)).toContain('"schema":null,"referencePlugin":null');
});

describe('INTROSPECTION=false', () => {
  it.each([
    '{ a: __schema { types { name } } __typename }',
    '{ ...F } fragment F on Query { __type(name: "Pet") { fields { name } } }',
  ])('rejects %s', async (query) => {
    for (let time = 1; time <= TIMES_UNTIL_COMPILED; time += 1) {
      const { data, errors } = await hidden.graphql(query);
      expect(data).toBeUndefined();
      expect(errors?.[0]?.extensions).toMatchObject({ code: 'GRAPHQL_VALIDATION_FAILED' });
      expect(errors?.[0]?.message).toContain('introspection');
    }
    expect((await gateway.graphql(query)).errors).toBeUndefined();
    expect(await hidden.data('{ __typename }')).toEqual({ __typename: 'Query' });
  });

  it('does not serve /schema.graphql, and does not link to it', async () => {
    expect((await hidden.rest('/schema.graphql')).status).toBe(404);
    for (const path of ['/', '/docs', '/guide/api'])
      expect(await (await hidden.rest(path)).text()).not.toMatch(/href="[./]*schema/);
  });

  const UPDATE =
    'mutation ($input: PetUpdate!) { updatePet(id: "1", input: $input) { __typename } }';

  it.each<[what: string, query: string, variables?: Record<string, unknown>]>([
    ['an unknown field', '{ pest { totalCount } }'],
    ['an unknown argument', '{ pet(idd: "1", id: "1") { id } }'],
    ['an unknown input field in a variable', UPDATE, { input: { nam: 'A' } }],
    ['an unknown enum value in a variable', UPDATE, { input: { status: 'SOL' } }],
    ['a value that looks like a suggestion', UPDATE, { input: { nam: ' Did you mean "a"?' } }],
  ])('suggests no names for %s', async (_what, query, variables) => {
    const { errors: shown = [] } = await gateway.graphql(query, variables);
    const suggested = shown.filter(({ message }) => / Did you mean /.test(message));
    expect(suggested).not.toEqual([]);
    const suggestion = /\. Did you mean [^?]+\?( It must be one of .+)?$/;
    const cut = shown.map(({ message }) => message.replace(suggestion, '.'));
    const { errors = [] } = await hidden.graphql(query, variables);
    const own = errors.filter(({ message }) => !message.includes('introspection'));
    expect(own.map(({ message }) => message)).toEqual(cut);
    for (const { message, extensions } of own)
      expect(message).toContain(extensions.issues?.[0]?.message ?? message);
  });
});
