import { describe, expect, it } from 'vitest';

import { resolveFrom } from '../support/browsing.ts';
import { type OpenApi, openApiOf } from '../support/documented.ts';
import { gateway, useGateway } from '../support/gateway.ts';
import { AUTH_BY_SECRET } from '../support/tokens.ts';

const PET = '/pets/{petId}';
const ORDERS = '/store/orders';

useGateway();

const readDocument = async (): Promise<OpenApi> =>
  (await (await gateway.rest('/openapi.json')).json()) as OpenApi;

const markersOf = (document: OpenApi, path: string): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(document.paths[path]?.get ?? {}).filter(([name]) => /^(x-|depr)/.test(name)),
  );

describe('the OpenAPI document', () => {
  it('is OpenAPI 3.0.3, contains the version of the API, and is the one that tests check responses against', async () => {
    const document = await readDocument();
    expect(document).toMatchObject({ openapi: '3.0.3', info: { version: '1.0.0' } });
    expect(document).toEqual(openApiOf());
  });

  it('names as the server the folder that it is in, also behind a path prefix', async () => {
    const { servers } = (await readDocument()) as OpenApi & { servers: { url: string }[] };
    expect(servers.map(({ url }) => resolveFrom('/openapi.json', url))).toEqual(['/']);
  });

  it("marks the life cycle of a REST operation with GitBook's extensions, and describes it", () => {
    const document = openApiOf({ SUNSET: 'enforce', SUNSET_DATE: '2028-02-29' });
    const ended = { deprecated: true, 'x-deprecated-sunset': '2028-02-29' };
    expect(markersOf(document, PET)).toEqual(ended);
    const beta = { 'x-stability': 'beta', 'x-hideTryItPanel': true };
    expect(markersOf(document, ORDERS)).toEqual(beta);
    expect(document.paths[PET]?.get.description).toMatch(
      /^Deprecated since 2026-11-01. It stops working on 2028-02-29.*`Query.pet`/ms,
    );
  });
});

it.each([
  ['scope', [{ bearer: [] }], ['401', '403']],
  ['open', [{}, { bearer: [] }], ['401']],
])(
  'the OpenAPI document of a gateway with AUTH=jwt declares whether a token is required: AUTH_READ=%s',
  async (read, security, statuses) => {
    const document = openApiOf({ ...AUTH_BY_SECRET, AUTH_READ: read });
    expect(document.components['securitySchemes']).toMatchObject({
      bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
    });
    for (const path of [PET, ORDERS]) {
      const { get } = document.paths[path] ?? {};
      expect(get).toMatchObject({ security });
      const declared = Object.keys(get?.responses ?? {});
      expect(declared.filter((status) => /^40[13]$/.test(status))).toEqual(statuses);
      for (const status of statuses)
        expect(get?.responses[status]).toHaveProperty(['headers', 'WWW-Authenticate']);
    }
  },
);
