import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { useFolder } from '../support/folders.ts';
import {
  type Gateway,
  gateway as any,
  type GraphqlResponse,
  startOther,
  useGateway,
  useOther,
} from '../support/gateway.ts';
import { makePet } from '../support/make.ts';
import { hashOf, toManifest, withManifest } from '../support/manifest.ts';
import { post, searchOf, TIMES_UNTIL_COMPILED } from '../support/post.ts';

type Parameters = Record<string, unknown>;

interface Result {
  status: number;
  data?: Record<string, unknown>;
  code?: string;
  message?: string;
}

async function resultOf(response: Response): Promise<Result> {
  const { data, errors: [error] = [] } = (await response.json()) as GraphqlResponse;
  const problem = error && { code: error.extensions.code, message: error.message };
  return { status: response.status, ...(data && { data }), ...problem };
}

const get = ({ url }: Gateway, parameters: Parameters): Promise<Response> =>
  fetch(`${url}/graphql?${searchOf(parameters)}`, { headers: { accept: 'application/json' } });

/** Sends parameters with POST and with GET, and expects the same response. */
async function ask(gateway: Gateway, parameters: Parameters): Promise<Result> {
  const result = await resultOf(await post(gateway, parameters));
  expect(await resultOf(await get(gateway, parameters))).toEqual(result);
  return result;
}

const TYPE = '{ __typename }';
const ofTypename = (name: string): object => ({ status: 200, data: { [name]: 'Query' } });
const TYPED = ofTypename('__typename');
const PET = 'query Pet($id: ID!) { pet(id: $id) { name } }';
const DELETE = 'mutation { deletePet(id: "99") { ... on Error { code } } }';
const COSTLY = `{ ${'pets(first: 100) { nodes { category { '.repeat(3)} id ${'} } } '.repeat(3)} }`;
const NAMED = '{ named: __typename }';

/** The query of an app with sixty components, each with its own fragment: 5,000 tokens, 1,800 aliases, 22 levels. */
const PARTS = Array.from({ length: 60 }, (_, part) => part);
const LARGE = `query Large { ${'... { '.repeat(21)} ${PARTS.map((part) => `...F${part}`).join(' ')} ${'} '.repeat(21)} }
${PARTS.map((part) => {
  const fields = Array.from({ length: 30 }, (_, index) => `a${part}_${index}: __typename`);
  return `fragment F${part} on Query { ${fields.join(' ')} }`;
}).join('\n')}`;
const MANIFEST = { ...toManifest(TYPE, PET, DELETE, COSTLY, LARGE), 'md5-of-relay': NAMED };

const BESIDE = '{ beside: __typename }';
const unknown = '{ unknown: __typename }';
// Clients recognize these messages.
const failure = (status: number, code: string, message: string): object => ({
  status,
  code,
  message,
});
const NOT_FOUND = failure(404, 'PERSISTED_QUERY_NOT_FOUND', 'PersistedQueryNotFound');
const NOT_SUPPORTED = failure(400, 'PERSISTED_QUERY_NOT_SUPPORTED', 'PersistedQueryNotSupported');
const BAD_REQUEST = { status: 400, code: 'BAD_REQUEST' };
const REQUIRED = { status: 400, code: 'PERSISTED_QUERY_ID_REQUIRED' };

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

useGateway();
const DOCUMENTS_MANIFEST = join(useFolder(), 'trusted.json');
writeFileSync(DOCUMENTS_MANIFEST, JSON.stringify(MANIFEST));
const known = useOther({ DOCUMENTS_MANIFEST });
const automatic = useOther({ DOCUMENTS: 'automatic', DOCUMENTS_MANIFEST });
const trusted = useOther({ DOCUMENTS: 'trusted', DOCUMENTS_MANIFEST });

/** Sends parameters to a gateway of each kind, and expects these responses. */
async function expectResults(parameters: Parameters, ...results: object[]): Promise<void> {
  for (const [index, gateway] of [any, known, automatic, trusted].entries()) {
    expect(await ask(gateway, parameters)).toMatchObject(results[index] ?? {});
  }
}

const HAVE_NONE = [NOT_SUPPORTED, NOT_FOUND, NOT_FOUND, NOT_FOUND];

describe.each(FORMS)('a document id sent as %s', (_form, toParameters) => {
  it.each([
    [hashOf(TYPE), TYPED],
    ['md5-of-relay', ofTypename('named')],
  ])('executes a document in the manifest: %s', async (id, result) => {
    await expectResults(toParameters(id), NOT_SUPPORTED, result, result, result);
  });

  // `constructor` is a property of every object, but not an id.
  it.each([hashOf(unknown), 'constructor', 'sha256:'])(
    'returns the error that clients expect if the id is unknown: $0',
    async (id) => {
      await expectResults(toParameters(id), ...HAVE_NONE);
    },
  );

  it('can be unknown if the query is sent as well, unless DOCUMENTS=trusted', async () => {
    const parameters = { query: BESIDE, ...toParameters(hashOf(BESIDE)) };
    const result = ofTypename('beside');
    await expectResults(parameters, result, result, result, NOT_FOUND);
  });
});

it.each([5, [hashOf(TYPE)], null, ''])(
  'a document id is ignored if it is empty or not a string: %j',
  async (id) => {
    for (const parameters of [{ documentId: id }, withHash(id), { doc_id: id }, { id }]) {
      for (const gateway of [any, known, automatic]) {
        expect(await resultOf(await post(gateway, parameters))).toMatchObject(BAD_REQUEST);
        const beside = { ...parameters, query: TYPE };
        expect(await resultOf(await post(gateway, beside))).toEqual(TYPED);
      }
      expect(await resultOf(await post(trusted, parameters))).toMatchObject(REQUIRED);
    }
  },
);

const OTHER_HASH = withHash(hashOf(unknown));
const OTHER_ID = `sha256:${hashOf(unknown)}`;

it.each<[what: string, parameters: Parameters, result: object, ofTrusted: object]>([
  ['has no id', { query: TYPE }, TYPED, REQUIRED],
  ['does not parse', { query: '{ no' }, { code: 'GRAPHQL_PARSE_FAILED' }, REQUIRED],
  ['is missing, as its id is', {}, BAD_REQUEST, REQUIRED],
  ['has an id that the client chose', { query: TYPE, id: 'x' }, TYPED, NOT_FOUND],
  ['has the hash of another', { query: TYPE, ...OTHER_HASH }, BAD_REQUEST, NOT_FOUND],
  ['has the id of another', { query: TYPE, documentId: OTHER_ID }, BAD_REQUEST, NOT_FOUND],
])(
  'a query is executed or rejected as each value of DOCUMENTS requires if it %s',
  async (_what, sent, result, ofTrusted) => {
    await expectResults(sent, result, result, result, ofTrusted);
  },
);

describe('a document in the manifest', () => {
  it('accepts variables, however often it is executed', async () => {
    const id = await makePet(known, { name: 'Luna' });
    const parameters = { documentId: hashOf(PET), variables: { id } };
    for (let time = 1; time <= TIMES_UNTIL_COMPILED; time += 1) {
      expect((await ask(known, parameters)).data).toEqual({ pet: { name: 'Luna' } });
    }
    const { code } = await ask(known, { ...parameters, variables: { id: {} } });
    expect(code).toBe('INVALID_ID');
  });

  it('is rejected with METHOD_NOT_ALLOWED if it is a mutation sent with GET', async () => {
    const parameters = { documentId: hashOf(DELETE) };
    const rejection = { status: 405, code: 'METHOD_NOT_ALLOWED' };
    expect(await resultOf(await get(trusted, parameters))).toMatchObject(rejection);
    const { data } = await resultOf(await post(trusted, parameters));
    expect(data).toEqual({ deletePet: { code: 'PET_NOT_FOUND' } });
  });

  it('is rejected with QUERY_TOO_COSTLY if it costs too much', async () => {
    expect((await ask(trusted, { documentId: hashOf(COSTLY) })).code).toBe('QUERY_TOO_COSTLY');
  });

  it('may exceed the limits on documents, which still apply to a document that is not trusted', async () => {
    const { data } = await resultOf(await post(trusted, { documentId: hashOf(LARGE) }));
    expect(Object.keys(data ?? {})).toHaveLength(1800);
    const result = await resultOf(await post(known, { query: `${LARGE} #` }));
    expect(result.code).toBe('DOCUMENT_TOO_LARGE');
  });

  it('is executed instead of a query sent with its id', async () => {
    for (const gateway of [known, trusted]) {
      expect(await ask(gateway, { query: unknown, documentId: hashOf(TYPE) })).toEqual(TYPED);
      const hashed = { query: '{ no GraphQL', ...withHash(hashOf(TYPE)) };
      expect(await ask(gateway, hashed)).toEqual(TYPED);
    }
  });
});

/** Starts a gateway with a manifest. */
const startWith = (manifest: unknown): Promise<Gateway> =>
  withManifest(manifest, (file) => startOther({ DOCUMENTS_MANIFEST: file }));

describe('DOCUMENTS_MANIFEST', () => {
  it("can be Apollo's manifest", async () => {
    const operations = [{ id: 'a', name: 'A', type: 'query', body: NAMED }];
    const manifest = { format: 'apollo-persisted-query-manifest', version: 1, operations };
    expect(await ask(await startWith(manifest), { id: 'a' })).toEqual(ofTypename('named'));
  });

  it.each([
    ['is not JSON', '{ a', /^DOCUMENTS_MANIFEST can't be read: /],
    ['has a syntax error', { a: TYPE, b: '{' }, /^The document b in .* cannot be .*: Syntax Error/],
    [
      'has a long document',
      { b: TYPE.padEnd(50_001) },
      /^The document b in .* cannot be executed: /,
    ],
    ['has an id twice', { a: TYPE, 'sha256:a': TYPE }, /two documents with the id a\.$/],
  ])('ends the start if it %s', async (_what, content, sentence) => {
    await expect(startWith(content)).rejects.toThrow(sentence);
  });
});

const keep = (query: string): Promise<Response> =>
  post(automatic, { query, ...withHash(hashOf(query)) });

describe('a document to be persisted automatically', () => {
  it.each([
    ['POST', (gateway: Gateway, all: Parameters) => post(gateway, all)],
    ['GET', get],
  ])(
    'can be executed by its hash alone after one %s with both the document and its hash',
    async (way, send) => {
      const query = `{ by${way}: __typename }`;
      const hash = withHash(hashOf(query));
      expect(await resultOf(await send(automatic, hash))).toEqual(NOT_FOUND);
      const first = await resultOf(await send(automatic, { query, ...hash }));
      expect(first.status).toBe(200);
      for (const [, toParameters] of FORMS) {
        expect(await ask(automatic, toParameters(hashOf(query)))).toEqual(first);
      }
    },
  );

  it.each([
    ['is not valid', '{ kept }', 'GRAPHQL_VALIDATION_FAILED'],
    ['costs too much', `${COSTLY} #kept`, 'QUERY_TOO_COSTLY'],
  ])('is not stored if it %s', async (_what, query, code) => {
    for (let time = 0; time < 2; time += 1) {
      expect(await resultOf(await keep(query))).toMatchObject({ code });
    }
    expect(await ask(automatic, withHash(hashOf(query)))).toEqual(NOT_FOUND);
  });

  it('is stored only with DOCUMENTS=automatic', async () => {
    const stored = withHash(hashOf(unknown));
    for (const gateway of [any, known]) await ask(gateway, { query: unknown, ...stored });
    await expectResults(stored, ...HAVE_NONE);
  });

  it('is stored even if it was sent without its hash', async () => {
    const query = '{ withoutHash: __typename }';
    expect(await ask(automatic, { query })).toEqual(ofTypename('withoutHash'));
    expect(await ask(automatic, withHash(hashOf(query)))).toEqual(ofTypename('withoutHash'));
  });

  it('is evicted when it is the least recently used document and the cache is full', async () => {
    // 12 times 900,000 characters are more than the 10 million that the cache holds.
    const limits = { maxDocumentLength: 1_000_000 };
    const gateway = await startOther({ DOCUMENTS: 'automatic' }, limits);
    const texts = Array.from({ length: 12 }, (_, n) => `${TYPE} #${n}${'x'.repeat(900_000)}`);
    const [first = '', second = ''] = texts;
    for (const query of texts) {
      expect((await post(gateway, { query, ...withHash(hashOf(query)) })).status).toBe(200);
      expect((await post(gateway, withHash(hashOf(first)))).status).toBe(200);
    }
    expect(await ask(gateway, withHash(hashOf(second)))).toEqual(NOT_FOUND);
    expect(await ask(gateway, withHash(hashOf(texts.at(-1) ?? '')))).toEqual(TYPED);
  });
});
