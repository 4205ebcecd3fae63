import { parse } from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { ConfigError, readConfig } from '../../src/config/config.ts';
import { createDocuments } from '../../src/graphql/documents.ts';
import { readManifest } from '../../src/graphql/manifest.ts';
import { type ClientError, type Gateway, openThatOf, startGateway } from '../support/gateway.ts';
import { makePet } from '../support/make.ts';
import { hashOf, toManifest, withFolder, withManifest } from '../support/manifest.ts';
import { post, TIMES_UNTIL_COMPILED } from '../support/post.ts';

type Parameters = Record<string, unknown>;

interface Answer {
  status: number;
  data?: Record<string, unknown>;
  code?: string;
  message?: string;
}

async function toAnswer(response: Response): Promise<Answer> {
  const { data, errors } = (await response.json()) as {
    data?: Record<string, unknown>;
    errors?: ClientError[];
  };
  const [error] = errors ?? [];
  return {
    status: response.status,
    ...(data && { data }),
    ...(error && { code: error.extensions.code, message: error.message }),
  };
}

function get({ url }: Gateway, parameters: Parameters): Promise<Response> {
  const search = new URLSearchParams(
    Object.entries(parameters).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  );
  return fetch(`${url}/graphql?${search}`, { headers: { accept: 'application/json' } });
}

/** Sends parameters by POST and by GET, and expects the same response. */
async function ask(gateway: Gateway, parameters: Parameters): Promise<Answer> {
  const answer = await toAnswer(await post(gateway, parameters));
  expect(await toAnswer(await get(gateway, parameters))).toEqual(answer);
  return answer;
}

const TYPE = '{ __typename }';
const TYPED = { status: 200, data: { __typename: 'Query' } };
const PET = 'query Pet($id: ID!) { pet(id: $id) { name } }';
const TWO = 'query A { a: __typename } query B { b: __typename }';
const DELETE = 'mutation { deletePet(id: "99") { ... on Error { code } } }';
const COSTLY = `{ ${'pets(first: 100) { nodes { category { '.repeat(3)} id ${'} } } '.repeat(3)} }`;
const NAMED = '{ named: __typename }';
const MANIFEST = { ...toManifest(TYPE, PET, TWO, DELETE, COSTLY), 'md5-of-relay': NAMED };

const unknown = '{ unknown: __typename }';
const NOT_FOUND = {
  status: 404,
  code: 'PERSISTED_QUERY_NOT_FOUND',
  message: 'PersistedQueryNotFound',
};
const NOT_SUPPORTED = {
  status: 400,
  code: 'PERSISTED_QUERY_NOT_SUPPORTED',
  message: 'PersistedQueryNotSupported',
};
const MISMATCH = { status: 400, code: 'BAD_REQUEST' };

const withHash = (sha256Hash: unknown) => ({
  extensions: { persistedQuery: { version: 1, sha256Hash } },
});

const FORMS: [form: string, toParameters: (id: string) => Parameters][] = [
  ['documentId', (documentId) => ({ documentId })],
  ['documentId with its prefix', (id) => ({ documentId: `sha256:${id}` })],
  ['the hash of a persisted query', withHash],
  ['doc_id', (id) => ({ doc_id: id })],
  ['id', (id) => ({ id })],
];

// Property names of objects, and values that are not strings, are never ids.
const NAMES = ['__proto__', 'constructor', 'toString', 'sha256:', 'sha256:constructor', ' '];
const NO_STRINGS: unknown[] = [5, true, {}, [hashOf(TYPE)], null, ''];

let any: Gateway;
let known: Gateway;
let automatic: Gateway;
let trusted: Gateway;
beforeAll(async () => {
  any = await startGateway();
  const that = openThatOf(any);
  automatic = await startGateway({ DOCUMENTS: 'automatic' }, that);
  [known, trusted] = await withManifest(MANIFEST, (DOCUMENTS_MANIFEST) =>
    Promise.all([
      startGateway({ DOCUMENTS_MANIFEST }, that),
      startGateway({ DOCUMENTS: 'trusted', DOCUMENTS_MANIFEST }, that),
    ]),
  );
});
afterAll(async () => {
  for (const gateway of [known, automatic, trusted, any]) await gateway.close();
});

describe('a document of the manifest', () => {
  it.each(FORMS)('runs by its id, sent as %s', async (_form, toParameters) => {
    for (const gateway of [known, trusted]) {
      expect(await ask(gateway, toParameters(hashOf(TYPE)))).toEqual(TYPED);
      const named = await ask(gateway, toParameters('md5-of-relay'));
      expect(named.data).toEqual({ named: 'Query' });
    }
  });

  it('takes variables, however often it runs', async () => {
    const id = await makePet(known, { name: 'Luna' });
    const parameters = { documentId: hashOf(PET), variables: { id } };
    for (let time = 1; time <= TIMES_UNTIL_COMPILED; time += 1) {
      expect((await ask(known, parameters)).data).toEqual({ pet: { name: 'Luna' } });
    }
    const refused = await ask(known, { documentId: hashOf(PET), variables: { id: {} } });
    expect(refused.code).toBe('INVALID_ID');
  });

  it('runs the operation of operationName', async () => {
    const documentId = hashOf(TWO);
    const answer = await ask(trusted, { documentId, operationName: 'B' });
    expect(answer.data).toEqual({ b: 'Query' });
    expect(await ask(trusted, { documentId })).toMatchObject({ code: 'BAD_REQUEST' });
  });

  it('rejects a mutation by GET', async () => {
    const parameters = { documentId: hashOf(DELETE) };
    expect(await toAnswer(await get(trusted, parameters))).toMatchObject({
      status: 405,
      code: 'METHOD_NOT_ALLOWED',
    });
    const answer = await toAnswer(await post(trusted, parameters));
    expect(answer.data).toEqual({ deletePet: { code: 'PET_NOT_FOUND' } });
  });

  it('is rejected if it costs too much', async () => {
    const answer = await ask(trusted, { documentId: hashOf(COSTLY) });
    expect(answer.code).toBe('QUERY_TOO_COSTLY');
  });

  it('runs instead of a query that is sent with it', async () => {
    for (const gateway of [known, trusted]) {
      expect(await ask(gateway, { query: unknown, documentId: hashOf(TYPE) })).toEqual(TYPED);
      const hashed = { query: '{ no GraphQL', ...withHash(hashOf(TYPE)) };
      expect(await ask(gateway, hashed)).toEqual(TYPED);
    }
  });
});

describe('an unknown id', () => {
  it.each(FORMS)('has the error that clients expect, sent as %s', async (_form, toParameters) => {
    const parameters = toParameters(hashOf(unknown));
    expect(await ask(any, parameters)).toEqual(NOT_SUPPORTED);
    for (const gateway of [known, automatic, trusted]) {
      expect(await ask(gateway, parameters)).toEqual(NOT_FOUND);
    }
  });

  it.each(NAMES)('may be any string: %s', async (id) => {
    for (const [, toParameters] of FORMS) {
      expect(await ask(any, toParameters(id))).toEqual(NOT_SUPPORTED);
      for (const gateway of [known, automatic, trusted]) {
        expect(await ask(gateway, toParameters(id))).toEqual(NOT_FOUND);
      }
    }
  });

  it.each(NO_STRINGS)('is ignored if it is not a string: %j', async (id) => {
    for (const parameters of [{ documentId: id }, withHash(id), { doc_id: id }, { id }]) {
      for (const gateway of [any, known, automatic]) {
        const answer = await toAnswer(await post(gateway, parameters));
        expect(answer).toMatchObject({ status: 400, code: 'BAD_REQUEST' });
        const beside = { ...parameters, query: TYPE };
        expect(await toAnswer(await post(gateway, beside))).toEqual(TYPED);
      }
      const answer = await toAnswer(await post(trusted, parameters));
      expect(answer).toMatchObject({ status: 400, code: 'PERSISTED_QUERY_ID_REQUIRED' });
    }
  });

  it.each([{ extensions: 5 }, { extensions: { persistedQuery: 5 } }, { extensions: [] }])(
    'is not read from malformed extensions: %j',
    async (parameters) => {
      expect(await ask(known, parameters)).toMatchObject({ status: 400, code: 'BAD_REQUEST' });
    },
  );
});

describe('a query', () => {
  it('runs without an id unless DOCUMENTS=trusted', async () => {
    for (const gateway of [any, known, automatic]) {
      expect(await ask(gateway, { query: TYPE })).toEqual(TYPED);
    }
    const required = { status: 400, code: 'PERSISTED_QUERY_ID_REQUIRED' };
    expect(await ask(trusted, { query: TYPE })).toMatchObject(required);
    expect(await ask(trusted, { query: '{ no GraphQL' })).toMatchObject(required);
    expect(await ask(trusted, {})).toMatchObject(required);
  });

  it('runs with an unknown id, unless the id is the hash of another query', async () => {
    const query = '{ beside: __typename }';
    for (const gateway of [any, known, automatic]) {
      for (const [, toParameters] of FORMS) {
        const answer = await ask(gateway, { query, ...toParameters(hashOf(query)) });
        expect(answer.data).toEqual({ beside: 'Query' });
      }
      const beside = await ask(gateway, { query, id: 'of-the-request', doc_id: 'x' });
      expect(beside.data).toEqual({ beside: 'Query' });
      for (const parameters of [
        withHash(hashOf(unknown)),
        withHash(hashOf(query).toUpperCase()),
        { documentId: `sha256:${hashOf(unknown)}` },
      ]) {
        expect(await ask(gateway, { query, ...parameters })).toMatchObject(MISMATCH);
      }
    }
  });

  it('does not run with an unknown id if DOCUMENTS=trusted', async () => {
    for (const [, toParameters] of FORMS) {
      const parameters = { query: unknown, ...toParameters(hashOf(unknown)) };
      expect(await ask(trusted, parameters)).toEqual(NOT_FOUND);
    }
  });

  it('is stored only if DOCUMENTS=automatic', async () => {
    const parameters = { query: unknown, ...withHash(hashOf(unknown)) };
    for (const gateway of [any, known]) await ask(gateway, parameters);
    expect(await ask(any, withHash(hashOf(unknown)))).toEqual(NOT_SUPPORTED);
    expect(await ask(known, withHash(hashOf(unknown)))).toEqual(NOT_FOUND);
  });
});

const keep = (query: string): Promise<Response> =>
  post(automatic, { query, ...withHash(hashOf(query)) });

describe('a document that is stored automatically', () => {
  it.each([
    ['POST', (gateway: Gateway, all: Parameters) => post(gateway, all)],
    ['GET', get],
  ])(
    'is sent with its hash once by %s, and runs by the hash alone afterwards',
    async (way, send) => {
      const query = `{ by${way}: __typename }`;
      const hash = withHash(hashOf(query));
      expect(await toAnswer(await send(automatic, hash))).toEqual(NOT_FOUND);
      const first = await toAnswer(await send(automatic, { query, ...hash }));
      expect(first.status).toBe(200);
      for (const [, toParameters] of FORMS) {
        expect(await ask(automatic, toParameters(hashOf(query)))).toEqual(first);
      }
    },
  );

  it('is not stored without its hash', async () => {
    const query = '{ bare: __typename }';
    await ask(automatic, { query });
    await ask(automatic, { query, documentId: hashOf(query) });
    expect(await ask(automatic, withHash(hashOf(query)))).toEqual(NOT_FOUND);
  });

  it.each([
    ['does not parse', '{ kept', 'GRAPHQL_PARSE_FAILED'],
    ['is not valid', '{ kept }', 'GRAPHQL_VALIDATION_FAILED'],
    ['is too long', `${TYPE} #${'x'.repeat(50_000)}`, expect.any(String)],
    ['costs too much', `${COSTLY} #kept`, 'QUERY_TOO_COSTLY'],
    ['lacks a variable', 'query Kept($id: ID!) { pet(id: $id) { id } }', expect.any(String)],
  ])('is not stored if it %s', async (_what, query, code) => {
    for (let time = 0; time < 2; time += 1) {
      expect(await toAnswer(await keep(query))).toMatchObject({ code });
    }
    expect(await ask(automatic, withHash(hashOf(query)))).toEqual(NOT_FOUND);
  });

  it('is removed when it was not used for longest and the store is full', async () => {
    // 12 times 900,000 characters are more than the 10 million that are stored.
    const environment = { DOCUMENTS: 'automatic', MAX_DOCUMENT_LENGTH: '1000000' };
    const gateway = await startGateway(environment, openThatOf(any));
    const texts = Array.from({ length: 12 }, (_, n) => `${TYPE} #${n}${'x'.repeat(900_000)}`);
    const [first = '', second = ''] = texts;
    for (const query of texts) {
      expect((await post(gateway, { query, ...withHash(hashOf(query)) })).status).toBe(200);
      expect((await post(gateway, withHash(hashOf(first)))).status).toBe(200);
    }
    expect(await ask(gateway, withHash(hashOf(second)))).toEqual(NOT_FOUND);
    expect(await ask(gateway, withHash(hashOf(texts.at(-1) ?? '')))).toEqual(TYPED);
    await gateway.close();
  });

  it('is found beside those of the manifest', async () => {
    const gateway = await withManifest(MANIFEST, (DOCUMENTS_MANIFEST) =>
      startGateway({ DOCUMENTS: 'automatic', DOCUMENTS_MANIFEST }, openThatOf(any)),
    );
    const query = '{ other: __typename }';
    await post(gateway, { query, ...withHash(hashOf(query)) });
    expect((await ask(gateway, withHash(hashOf(query)))).data).toEqual({ other: 'Query' });
    expect(await ask(gateway, { documentId: hashOf(TYPE) })).toEqual(TYPED);
    await gateway.close();
  });
});

const read = (content: unknown) =>
  withManifest(content, (file) => readManifest(file, readConfig({})));

describe('the manifest', () => {
  it.each([
    ["Relay's and GraphQL Code Generator's", { a: TYPE }],
    ['one whose ids have their prefix', { 'sha256:a': TYPE }],
    [
      "Apollo's",
      {
        format: 'apollo-persisted-query-manifest',
        version: 1,
        operations: [{ id: 'a', name: 'A', type: 'query', body: TYPE }],
      },
    ],
  ])('may be %s', async (_whose, content) => {
    const manifest = await read(content);
    expect([...manifest].map(([id, { text }]) => [id, text])).toEqual([['a', TYPE]]);
  });

  it.each([
    ['if it is not JSON', '{ a', /^DOCUMENTS_MANIFEST can't be read: /],
    ['if it is a list', [TYPE], /^DOCUMENTS_MANIFEST must be a JSON object /],
    ['if a value is not a string', { a: 5 }, /^DOCUMENTS_MANIFEST must be a JSON object /],
    [
      "if it is Apollo's in another version",
      { format: 'apollo-persisted-query-manifest', version: 2, operations: [] },
      /^DOCUMENTS_MANIFEST must be a JSON object /,
    ],
    ['if a document does not parse', { a: TYPE, b: '{' }, /can't run here, b: Syntax Error/],
    ['if a field does not exist', { a: TYPE, b: '{ x }' }, /here, b: Cannot query field "x"/],
    ['if a document is too long', { b: `${TYPE}#${'x'.repeat(50_000)}` }, /here, b: /],
    [
      'if a document has too many tokens',
      { b: `{ ${'id '.repeat(5000)} }` },
      /here, b: .*5000 tokens/,
    ],
  ])('is rejected %s', async (_what, content, sentence) => {
    const refused = read(content);
    await expect(refused).rejects.toThrow(ConfigError);
    await expect(refused).rejects.toThrow(sentence);
  });

  it('keeps its documents parsed when the cache is full', async () => {
    const { find, add } = createDocuments(await read({ a: TYPE }), 1000);
    const caller = { subject: undefined, scopes: new Set<string>() };
    const before = find(TYPE, caller);
    const others = Array.from({ length: 1001 }, (_, index) => `{ a${index}: __typename }`);
    for (const text of others) add(parse(text), caller);
    expect(before).toEqual(parse(TYPE));
    expect(find(TYPE, caller)).toBe(before);
    expect(find('{ a0: __typename }', caller)).toBeUndefined();
    expect(find('{ a1000: __typename }', caller)).toBeDefined();
  });

  it('is required to exist when the gateway starts', () =>
    withFolder(async (folder) => {
      const missing = { DOCUMENTS_MANIFEST: `${folder}/missing.json` };
      const started = startGateway(missing, openThatOf(any));
      await expect(started).rejects.toThrow(ConfigError);
      await expect(started).rejects.toThrow(
        /^DOCUMENTS_MANIFEST can't be read: ENOENT.*missing\.json'\.$/,
      );
    }));
});
