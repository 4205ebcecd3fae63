import { raw } from 'sql-template-tag';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';

import { TABLES } from '../../src/store/generated/tables.ts';
import { petStore } from '../../src/store/index.ts';
import { openApiOf, resolve } from '../support/documented.ts';
import { type Gateway, gateway, startGateway, useGateway, useOther } from '../support/gateway.ts';
import { makeOrder, makePet } from '../support/make.ts';
import { type RawResponse, requestRaw, sendRaw } from '../support/raw.ts';

useGateway();
/** A gateway that enforces its sunset date, which has passed. */
const ended = useOther({ SUNSET: 'enforce', SUNSET_DATE: '2026-11-01' });
const hasty = useOther({ REQUEST_TIMEOUT_MS: '100' });
/** A gateway whose tables are replaced by views that raise an error with the SQLSTATE in the table `failure`. */
let broken: Gateway;
const document = openApiOf();

beforeAll(async () => {
  await makeOrder(gateway, await makePet(gateway, { stock: 2 }));
  broken = await startGateway();
  const statements = [
    "create table failure as select '' as code",
    `create function fail() returns bigint language plpgsql as
      'begin raise exception using errcode = (select code from failure); end'`,
    ...Object.values(TABLES)
      .filter(({ type }) => petStore.repositories.has(type))
      .flatMap(({ name }) => [
        `alter table ${name} rename to kept_${name}`,
        `create view ${name} as select kept_${name}.*
         from (select fail() as failed) as failure left join kept_${name} on true where failed >= 0`,
      ]),
  ];
  for (const statement of statements) await broken.db.write(raw(statement));
  return () => broken.close();
});
afterEach(() => void broken.loggedErrors.splice(0));

const get = (target: string, headers?: Record<string, string>): Promise<RawResponse> =>
  requestRaw(gateway, 'GET', target, headers);

/** Sends an incomplete or malformed request. */
const send = async (to: Gateway, target: string, rest: string): Promise<RawResponse> => {
  const response = await sendRaw(to, `GET ${target} HTTP/1.1\r\n${rest}`, { wait: true });
  to.checkOf('GET', target)?.(response);
  return response;
};

/** Sends a request while the database raises errors with this SQLSTATE. */
async function fail(target: string, sqlState: string): Promise<RawResponse> {
  await broken.db.write(raw(`update failure set code = '${sqlState}'`));
  return requestRaw(broken, 'GET', target);
}

type Case = readonly [status: number, code: string, ask: () => Promise<RawResponse>];

/** The responses that every path can return. */
const common = (target: string): Case[] => [
  [400, 'BAD_REQUEST', () => send(gateway, target, 'Host: localhost\r\nbad header: x\r\n\r\n')],
  [408, 'REQUEST_TIMEOUT', () => send(hasty, target, 'Host: localhost\r\n')],
  [421, 'MISDIRECTED_REQUEST', () => get(target, { Host: 'rebound.example' })],
  [431, 'HEADERS_TOO_LARGE', () => get(target, { X: 'x'.repeat(20_000) })],
  // The SQLSTATEs are internal_error and too_many_connections.
  [500, 'INTERNAL_SERVER_ERROR', () => fail(target, 'XX000')],
  [503, 'SERVICE_UNAVAILABLE', () => fail(target, '53300')],
];

const CASES: Record<string, readonly Case[]> = {
  getPet: [
    [200, '', () => get('/pets/1')],
    [304, '', () => get('/pets/1', { 'If-None-Match': '*' })],
    [400, 'INVALID_ID', () => get('/pets/abc')],
    [404, 'PET_NOT_FOUND', () => get('/pets/999')],
    [410, 'GONE', () => requestRaw(ended, 'GET', '/pets/1')],
    [414, 'URI_TOO_LONG', () => get(`/pets/${'1'.repeat(101)}`)],
    ...common('/pets/1'),
  ],
  listOrders: [
    [200, '', () => get('/store/orders')],
    [200, '', () => get('/store/orders?limit=1')],
    [400, 'INVALID_ID', () => get('/store/orders?after=abc')],
    [400, 'INVALID_INPUT', () => get('/store/orders?limit=0')],
    ...common('/store/orders'),
  ],
};

const rows = Object.entries(CASES).flatMap(([id, cases]) =>
  cases.map(([status, code, ask]) => ({ name: `${id} ${status} ${code}`, status, code, ask })),
);

describe('the REST API', () => {
  // The helpers above check each response against the OpenAPI document.
  it.each(rows)('returns the declared response $name', async ({ status, code, ask }) => {
    const response = await ask();
    expect(response.status).toBe(status);
    expect(code && JSON.parse(response.body).code).toBe(code);
  });

  it('has a test in this file for each declared response', () => {
    const declared = Object.values(document.paths).flatMap(({ get: { operationId, responses } }) =>
      Object.entries(responses).flatMap(([status, response]) => {
        const { examples = { '': {} } } =
          resolve(document, response).content?.['application/json'] ?? {};
        return Object.keys(examples).map((code) => `${operationId} ${status} ${code}`);
      }),
    );
    const seen = new Set(rows.map(({ name }) => name));
    expect([...seen].toSorted()).toEqual(declared.toSorted());
  });
});
