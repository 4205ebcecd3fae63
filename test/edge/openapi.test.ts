import { readFileSync } from 'node:fs';

import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { parse } from 'yaml';

import { createAuthenticate } from '../../src/auth/tokens.ts';
import { createFeed } from '../../src/changes/feed.ts';
import { readConfig } from '../../src/config/config.ts';
import { REST_LIFECYCLES } from '../../src/contract/lifecycle.ts';
import { createRoutes } from '../../src/server/routes.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { type OpenApi, openApiOf, plant } from '../support/documented.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { lintWithRedocly, lintWithSpectral } from '../support/linters.ts';
import { makePet } from '../support/make.ts';
import { requestRaw } from '../support/raw.ts';
import { AUTH_BY_SECRET } from '../support/tokens.ts';

const PET = '/pets/{petId}';
const ORDERS = '/store/orders';

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

interface DocumentedHeaders {
  readonly $ref: string;
  readonly headers: Record<string, { description: string }>;
}

const readDocument = async (): Promise<OpenApi> =>
  (await (await gateway.rest('/openapi.json')).json()) as OpenApi;

describe.each(['/openapi.json', '/openapi.yaml'])('%s', (path) => {
  it('is 304 for a caller that has it', async () => {
    const first = await gateway.rest(path);
    expect(first.status).toBe(200);
    expect(first.headers.get('content-type')).toMatch(/^application\/(json|yaml)/);
    const tag = first.headers.get('etag') ?? '';
    // The tag is weak, as it is the same with and without gzip.
    expect(tag).toMatch(/^W\//);
    const again = await requestRaw(gateway, 'GET', path, { 'If-None-Match': tag });
    expect(again).toMatchObject({ status: 304, body: '' });
    expect(again.headers.get('etag')).toBe(tag);
    expect(again.headers.get('content-type')).toBeNull();
  });

  it('is gzipped if the caller accepts that', async () => {
    const { headers } = await requestRaw(gateway, 'HEAD', path, { 'Accept-Encoding': 'gzip' });
    expect(headers.get('content-encoding')).toBe('gzip');
    const bare = await requestRaw(gateway, 'HEAD', path);
    expect(bare.headers.get('content-encoding')).toBeNull();
    expect(Number(headers.get('content-length'))).toBeLessThan(
      Number(bare.headers.get('content-length')) / 2,
    );
  });
});

describe('the document', () => {
  it('is OpenAPI 3.0.3 and has the version of the interface, not that of the release', async () => {
    expect(await readDocument()).toMatchObject({ openapi: '3.0.3', info: { version: '1.0.0' } });
    const { version } = JSON.parse(
      readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
    ) as { version: string };
    expect(await (await gateway.rest('/openapi.json')).text()).not.toContain(version);
  });

  it('says nothing of one resource about a header that any route can have', async () => {
    const { paths } = await readDocument();
    const responses = Object.values(paths).flatMap(({ get }) => Object.values(get.responses));
    const headers = (responses as DocumentedHeaders[]).flatMap((response) =>
      Object.values(response.headers),
    );
    const texts = [...new Set(headers.map(({ description }) => description))];
    expect(texts.length).toBeGreaterThan(5);
    expect(texts.filter((text) => /\b(pet|order|inventory|categor)/i.test(text))).toEqual([]);
  });

  it('is the same in YAML 1.1 and 1.2', async () => {
    const document = await readDocument();
    const yaml = await (await gateway.rest('/openapi.yaml')).text();
    expect(parse(yaml)).toEqual(document);
    expect(parse(yaml, { version: '1.1' })).toEqual(document);
  });

  it('is the one that all tests check responses against', async () => {
    expect(await readDocument()).toEqual(openApiOf(readConfig({})));
  });

  it('has exactly the routes that serve data', async () => {
    const { paths } = await readDocument();
    const metrics = createMetrics();
    const context = {
      store: { db: gateway.db, maxPage: 100, observeBatch: metrics.observeBatch },
      changes: createFeed(gateway.db, createLog('silent'), () => {}),
      authenticate: createAuthenticate(undefined),
    };
    const routes = createRoutes(context, readConfig({}), { hasStarted: false }, metrics);
    const operations = routes.filter(({ head }) => head !== undefined);
    expect(Object.keys(paths)).toEqual(operations.map(({ path }) => path));
    expect(Object.keys(paths).map((path) => `GET ${path}`)).toEqual(Object.keys(REST_LIFECYCLES));
  });

  it('has a schema for every resource', async () => {
    const { components } = await readDocument();
    const names = Object.keys(components['schemas'] ?? {}).toSorted();
    expect(names.join(' ')).toBe(
      'Category CategoryUpdate Error InventoryItem InventoryUpdate NewCategory NewOrder NewPet ' +
        'Order Orders Pet PetStatus PetUpdate Pets',
    );
  });
});

describe('the schemas', () => {
  it('refer to one PetStatus', async () => {
    const { components } = await readDocument();
    expect(components['schemas']).toMatchObject({
      PetStatus: { type: 'string', enum: ['available', 'pending', 'sold'] },
    });
    for (const name of ['Pet', 'NewPet', 'PetUpdate', 'InventoryItem']) {
      expect(components['schemas']?.[name]).toHaveProperty('properties.status', {
        $ref: '#/components/schemas/PetStatus',
      });
    }
  });

  it('have no default, which generators of code take for a required field', async () => {
    const { components } = await readDocument();
    expect(JSON.stringify(components['schemas'])).not.toContain('"default"');
  });
});

describe('the description of GET /store/orders', () => {
  it('says that other parameters are rejected, and how', async () => {
    const { paths } = await readDocument();
    const { description, responses } = paths[ORDERS]?.get ?? {};
    expect(description).toContain('Any other query parameter is `INVALID_INPUT`.');
    const examples = ['content', 'application/json', 'examples'];
    expect(responses?.['400']).toHaveProperty([...examples, 'INVALID_INPUT']);
  });
});

const markersOf = (document: OpenApi, path: string): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(document.paths[path]?.get ?? {}).filter(([name]) => /^(x-|depr)/.test(name)),
  );

describe('the lifecycle of an operation', () => {
  it('is marked with the extensions of GitBook and of other tools', async () => {
    const document = await readDocument();
    expect(markersOf(document, PET)).toEqual({
      deprecated: true,
      'x-deprecated-since': '2026-11-01',
      'x-deprecated-sunset': '2027-12-31',
      'x-sunset': '2027-12-31',
      'x-stability-level': 'stable',
      'x-scalar-stability': 'deprecated',
    });
    expect(markersOf(document, ORDERS)).toEqual({
      'x-stability': 'beta',
      'x-stability-level': 'beta',
      'x-scalar-stability': 'experimental',
      'x-hideTryItPanel': true,
      'x-readme': { 'explorer-enabled': false },
    });
  });

  it('has the sunset of the configuration', async () => {
    const document = openApiOf(readConfig({ SUNSET: 'enforce', SUNSET_DATE: '2028-02-29' }));
    expect(markersOf(document, PET)).toMatchObject({
      'x-deprecated-sunset': '2028-02-29',
      'x-sunset': '2028-02-29',
    });
    expect(document.paths[PET]?.get.description).toContain('It stops working on 2028-02-29.');
  });

  it('is described in words, with the query that replaces it', async () => {
    const id = await makePet(gateway);
    expect(id).toBe('1');
    const { paths } = await readDocument();
    const { description } = paths[PET]?.get ?? {};
    expect(description).toContain(
      'Deprecated since 2026-11-01. It may stop working on 2027-12-31.',
    );
    expect(description).toContain('`Query.pet`');
    const [, query = ''] = /```graphql\n(.*)```/s.exec(description ?? '') ?? [];
    expect((await gateway.data(query)).pet).toMatchObject({ name: 'Cleo' });
  });
});

const OPERATION = ['paths', PET, 'get'];
const PLANTED: [what: string, path: string[], value: unknown, spectral: string, redocly: string][] =
  [
    ['a word that OpenAPI does not have', [...OPERATION, 'tag'], 'Pets', 'oas3-schema', 'struct'],
    ['a value of another type', [...OPERATION, 'tags'], 'Pets', 'oas3-schema', 'struct'],
    [
      'an example that is not one',
      ['components', 'schemas', 'Pet', 'example'],
      { id: '1' },
      'oas3-valid-schema-example',
      'no-invalid-schema-examples',
    ],
    [
      'a broken reference',
      [...OPERATION, 'responses', '404'],
      { $ref: '#/components/responses/NONE' },
      'invalid-ref',
      'no-unresolved-refs',
    ],
    [
      'a schema that nothing refers to',
      ['components', 'schemas', 'Bare'],
      { type: 'object' },
      'oas3-unused-component',
      'no-unused-components',
    ],
  ];

/** The document of a gateway with AUTH=jwt. */
const closedDocument = (read: string): OpenApi =>
  openApiOf(readConfig({ ...AUTH_BY_SECRET, AUTH_READ: read }));

describe('the document of a gateway with AUTH=jwt', () => {
  it.each([
    ['scope', [{ bearer: [] }], ['401', '403']],
    ['open', [{}, { bearer: [] }], ['401']],
  ])('says what that takes: AUTH_READ=%s', (read, security, statuses) => {
    const document = closedDocument(read);
    expect(document.components['securitySchemes']).toMatchObject({
      bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
    });
    for (const path of [PET, ORDERS]) {
      const { get } = document.paths[path] ?? {};
      expect(get).toMatchObject({ security });
      const refusals = Object.keys(get?.responses ?? {}).filter((status) =>
        /^40[13]$/.test(status),
      );
      expect(refusals).toEqual(statuses);
      for (const status of statuses) {
        expect(get?.responses[status]).toHaveProperty(['headers', 'WWW-Authenticate']);
      }
    }
  });

  it.each(inject('isLong') ? ['scope', 'open'] : ['scope'])(
    'passes the linters: AUTH_READ=%s',
    async (read) => {
      const text = JSON.stringify(closedDocument(read));
      expect(await lintWithSpectral(text)).toEqual([]);
      expect(await lintWithRedocly(text)).toEqual([]);
    },
  );
});

describe('the linters', () => {
  it.each([
    ['Spectral', lintWithSpectral],
    ['Redocly', lintWithRedocly],
  ])('find no fault: %s', async (_name, lint) => {
    expect(await lint(await (await gateway.rest('/openapi.json')).text())).toEqual([]);
  });

  describe('find', () => {
    let found: string[][];
    beforeAll(async () => {
      let document = await readDocument();
      for (const [, path, value] of PLANTED) document = plant(document, path, value);
      const text = JSON.stringify(document);
      found = [await lintWithSpectral(text), await lintWithRedocly(text)];
    });

    it.each(PLANTED)('%s that is planted', (...row) => {
      const [, path, , spectral, redocly] = row;
      const pointer = path.map((name) => name.replaceAll('/', '~1')).join('/');
      expect(found).toEqual([
        expect.arrayContaining([expect.stringContaining(`${spectral} ${path.join('.')}`)]),
        expect.arrayContaining([expect.stringContaining(`${redocly} #/${pointer}`)]),
      ]);
    });
  });
});
