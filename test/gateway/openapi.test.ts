import { describe, expect, it } from 'vitest';

import { readConfig } from '../../src/gateway/config/config.ts';
import { VERSION } from '../../src/gateway/config/version.ts';
import { resolveFrom } from '../support/browsing.ts';
import { type OpenApi, openApiOf, plant } from '../support/documented.ts';
import { gateway, useGateway } from '../support/gateway.ts';
import { lintOpenApi } from '../support/lint-openapi.ts';
import { AUTH_BY_SECRET } from '../support/tokens.ts';

const PET = '/pets/{petId}';
const ORDERS = '/store/orders';

useGateway();

const readDocument = async (): Promise<OpenApi> =>
  (await (await gateway.rest('/openapi.json')).json()) as OpenApi;

describe('the OpenAPI document', () => {
  it('is OpenAPI 3.0.3, and contains the version of the API, not of the release', async () => {
    expect(await readDocument()).toMatchObject({ openapi: '3.0.3', info: { version: '1.0.0' } });
    expect(await (await gateway.rest('/openapi.json')).text()).not.toContain(VERSION);
  });

  it('names as the server the folder that it is in, also behind a path prefix', async () => {
    const text = await (await gateway.rest('/openapi.json')).text();
    const { servers } = JSON.parse(text) as { servers: { url: string }[] };
    expect(servers.map(({ url }) => resolveFrom('/openapi.json', url))).toEqual(['/']);
  });

  it('has no relative contact URL, for which OpenAPI Generator rejects a document', async () => {
    expect(await readDocument()).toHaveProperty('info.contact', { name: expect.any(String) });
  });

  it('describes each property of an object that a route returns, or refers to its schema', async () => {
    const { components } = await readDocument();
    for (const name of ['Pet', 'Order', 'Error']) {
      const schema = components['schemas']?.[name] as { properties: Record<string, object> };
      for (const property of Object.values(schema.properties)) {
        expect('description' in property || '$ref' in property).toBe(true);
      }
    }
  });

  it('equals the document that the tests check responses against', async () => {
    expect(await readDocument()).toEqual(openApiOf(readConfig({})));
  });
});

describe('the schemas of the OpenAPI document', () => {
  it('refer to a single PetStatus schema', async () => {
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

  it('have no defaults, because code generators would make fields with defaults required', async () => {
    const { components } = await readDocument();
    expect(JSON.stringify(components['schemas'])).not.toContain('"default"');
  });
});

const markersOf = (document: OpenApi, path: string): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(document.paths[path]?.get ?? {}).filter(([name]) => /^(x-|depr)/.test(name)),
  );

describe('the life cycle of a REST operation in the OpenAPI document', () => {
  it("is marked with GitBook's extensions", async () => {
    const document = await readDocument();
    const ended = { deprecated: true, 'x-deprecated-sunset': '2027-12-31' };
    expect(markersOf(document, PET)).toEqual(ended);
    const beta = { 'x-stability': 'beta', 'x-hideTryItPanel': true };
    expect(markersOf(document, ORDERS)).toEqual(beta);
  });

  it('has the configured sunset date', async () => {
    const document = openApiOf(readConfig({ SUNSET: 'enforce', SUNSET_DATE: '2028-02-29' }));
    expect(markersOf(document, PET)).toMatchObject({ 'x-deprecated-sunset': '2028-02-29' });
    expect(document.paths[PET]?.get.description).toContain('It stops working on 2028-02-29.');
  });

  it('is described in prose, with the replacement', async () => {
    const description = (await readDocument()).paths[PET]?.get.description;
    expect(description).toMatch(
      /^Deprecated since 2026-11-01. It may stop working on 2027-12-31./m,
    );
    expect(description).toContain('`Query.pet`');
  });
});

/** Returns the OpenAPI document of a gateway with AUTH=jwt. */
const closedDocument = (read: string): OpenApi =>
  openApiOf(readConfig({ ...AUTH_BY_SECRET, AUTH_READ: read }));

describe('the OpenAPI document of a gateway with AUTH=jwt', () => {
  it.each([
    ['scope', [{ bearer: [] }], ['401', '403']],
    ['open', [{}, { bearer: [] }], ['401']],
  ])('declares whether a token is required: AUTH_READ=%s', async (read, security, statuses) => {
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
});

describe('the Redocly linter', () => {
  it.each([
    ['a gateway', openApiOf(readConfig({}))],
    ['a gateway with AUTH=jwt', closedDocument('scope')],
    ['a gateway with AUTH=jwt and AUTH_READ=open', closedDocument('open')],
  ])('reports no error in the OpenAPI document of %s', async (_whose, document) => {
    expect(await lintOpenApi(JSON.stringify(document))).toEqual([]);
  });

  it('reports a keyword that OpenAPI does not define', async () => {
    const planted = plant(openApiOf(readConfig({})), ['paths', PET, 'get', 'tag'], 'Pets');
    const found = await lintOpenApi(JSON.stringify(planted));
    expect(found).toContainEqual(expect.stringMatching(/^struct #\/.*\/tag: /));
  });
});
