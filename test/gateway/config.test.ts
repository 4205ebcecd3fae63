import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

import { describe, expect, it } from 'vitest';

import { withPrinted } from '../../scripts/print.ts';
import { ConfigError, readConfig } from '../../src/gateway/config/config.ts';
import { Variables } from '../../src/gateway/config/variables.ts';

describe('the configuration', () => {
  it('treats an empty variable as unset', () => {
    const names = Object.keys(Variables.shape);
    const environment = Object.fromEntries(names.map((name) => [name, '']));
    expect(readConfig(environment)).toEqual(readConfig({}));
  });

  it.each([
    ['HOST', '[::1]', { host: '::1' }],
    ['DATA_DIR', 'here', { dataDir: resolve('here') }],
    ['IDEMPOTENCY_HOURS', '1', { idempotencyMs: 3_600_000 }],
    ['DOCUMENTS_MANIFEST', 'trusted.json', { manifest: resolve('trusted.json') }],
    [
      'CORS_ORIGINS',
      'https://a.example, tauri://b:1',
      { corsOrigins: ['https://a.example', 'tauri://b:1'] },
    ],
    ['SUNSET', 'enforce', { enforceSunset: true }],
    ['SUNSET_DATE', '2028-02-29', { sunset: new Date('2028-02-29T00:00:00Z') }],
  ])('accepts %s=%s', (name, value, expected) => {
    expect(readConfig({ [name]: value })).toEqual({ ...readConfig({}), ...expected });
  });

  it('has SAMPLE_STORE=false by default if DATABASE_URL is set', () => {
    const environment = { DATABASE_URL: 'postgres://localhost/store' };
    expect(readConfig(environment).sampleStore).toBe(false);
    expect(readConfig({ ...environment, SAMPLE_STORE: 'true' }).sampleStore).toBe(true);
  });

  it.each([
    ['HOST', '[localhost]'],
    ['PORT', '65536'],
    ['PGBOUNCER', 'yes'],
    ['REQUEST_TIMEOUT_MS', '99'],
    ['AUTH_JWKS_URL', 'http://login.example/keys'],
    ['CORS_ORIGINS', 'https://shop.example/'],
    ['CORS_ORIGINS', 'null'],
    ['CORS_ORIGINS', 'https://*.example.com'],
    ['CORS_ORIGINS', 'https://shop.example:443'],
    ['CORS_ORIGINS', 'capacitor://localhost/'],
    ['SUNSET_DATE', '2027-02-30'],
    ['LOG_LEVEL', 'INFO'],
  ])('rejects %s=%s with a message that names the variable', (name, value) => {
    const read = () => readConfig({ [name]: value });
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(new RegExp(`^${name} (must|cannot|can)[^:]*`));
  });

  const JWT = {
    AUTH: 'jwt',
    AUTH_SECRET: 'a secret that is long enough for HS256',
    AUTH_ISSUER: 'https://login.example/',
    AUTH_AUDIENCE: 'pet-store',
  };

  it.each(['0.0.0.0', '::', 'gateway.example', '127.0.0.1.example'])(
    'requires AUTH=jwt or AUTH_NONE_ANYWHERE=true for HOST=%s, which other machines may reach',
    (HOST) => {
      expect(() => readConfig({ HOST })).toThrow(/^HOST .* AUTH=jwt, or AUTH_NONE_ANYWHERE=true/);
      for (const environment of [JWT, { AUTH_NONE_ANYWHERE: 'true' }]) {
        expect(readConfig({ HOST, ...environment })).toMatchObject({
          host: HOST,
          checksHost: false,
        });
      }
    },
  );

  it('accepts a secret or a URL of public keys for verifying tokens', () => {
    const token = { issuer: 'https://login.example/', audience: 'pet-store' };
    expect(readConfig(JWT).auth).toEqual({
      ...token,
      key: new TextEncoder().encode(JWT.AUTH_SECRET),
      readIsOpen: false,
    });
    for (const url of ['https://login.example/keys', 'http://127.0.0.1:8080/keys']) {
      const published = { ...JWT, AUTH_SECRET: '', AUTH_JWKS_URL: url, AUTH_READ: 'open' };
      expect(readConfig(published).auth).toEqual({ ...token, key: new URL(url), readIsOpen: true });
    }
  });

  it.each([':hunter2@', 'hunter2@'])(
    'rejects credentials in AUTH_JWKS_URL, and does not repeat them in the message: %s',
    (credentials) => {
      const AUTH_JWKS_URL = `https://${credentials}login.example/keys`;
      const read = () => readConfig({ ...JWT, AUTH_SECRET: '', AUTH_JWKS_URL });
      expect(read).toThrow(
        /^AUTH_JWKS_URL must look like https:\/\/login.example\/keys, without a password\.$/,
      );
    },
  );

  it.each([
    [
      { AUTH: 'none' },
      /^AUTH_SECRET requires AUTH=jwt\. AUTH_ISSUER requires AUTH=jwt\. AUTH_AUDIENCE /,
    ],
    [{ AUTH_SECRET: '' }, 'AUTH=jwt requires either'],
    [{ AUTH_JWKS_URL: 'https://login.example/keys' }, 'AUTH=jwt requires either'],
    [{ AUTH_ISSUER: '' }, 'AUTH=jwt requires AUTH_ISSUER'],
    [{ AUTH_AUDIENCE: '' }, 'AUTH=jwt requires AUTH_ISSUER and AUTH_AUDIENCE'],
  ])('rejects an incomplete or contradictory token configuration: %j', (environment, sentence) => {
    expect(() => readConfig({ ...JWT, ...environment })).toThrow(sentence);
  });

  it('disables GraphiQL and introspection by default if NODE_ENV=production and AUTH=jwt', () => {
    const hidden = { graphiql: false, introspection: false };
    expect(readConfig({ ...JWT, NODE_ENV: 'production' })).toMatchObject(hidden);
    const shown = { graphiql: true, introspection: true };
    expect(readConfig(JWT)).toMatchObject(shown);
    expect(readConfig({ NODE_ENV: 'production' })).toMatchObject(shown);
    const explicit = { NODE_ENV: 'production', GRAPHIQL: 'true', INTROSPECTION: 'true' };
    expect(readConfig({ ...JWT, ...explicit })).toMatchObject(shown);
  });

  it('requires a manifest if DOCUMENTS=trusted, and then disables GraphiQL by default', () => {
    expect(() => readConfig({ DOCUMENTS: 'trusted' })).toThrow(/DOCUMENTS_MANIFEST/);
    const trusted = { DOCUMENTS: 'trusted', DOCUMENTS_MANIFEST: 'trusted.json' };
    expect(readConfig(trusted)).toMatchObject({ graphiql: false, introspection: true });
  });

  it('names every invalid variable in one message', () => {
    expect(() => readConfig({ PORT: 'a', LOG_LEVEL: 'b', AUTH_SECRET: 'hunter2' })).toThrow(
      /^(?!.*hunter2)PORT must be .*\. AUTH_SECRET must be .*\. LOG_LEVEL must be /,
    );
    expect(() => readConfig({ DOCUMENTS: 'trusted', AUTH: 'jwt' })).toThrow(
      /^DOCUMENTS=trusted requires .*\. AUTH=jwt requires either .*\. AUTH=jwt requires AUTH_ISSUER /,
    );
  });

  it.each([
    ['ANSWER_TIMEOUT_MS', 'renamed to RESPONSE_TIMEOUT_MS'],
    ['MAX_ANSWER_BYTES', 'renamed to MAX_RESPONSE_BYTES'],
    ['WORKERS', 'removed: start several gateways behind a load balancer'],
    ['DATABASE_REPLICA_URLS', 'replaced by DATABASE_REPLICA_URL: '],
    ['REPLICA_MAX_LAG_MS', 'removed: limit the lag in the load balancer'],
  ])('rejects %s, a setting of an earlier release: it has been %s', (name, successor) => {
    expect(() => readConfig({ [name]: '100000' })).toThrow(`${name} has been ${successor}`);
  });

  it('has the address of the replicas only if DATABASE_URL is set', () => {
    const DATABASE_URL = 'postgresql://a/store';
    const DATABASE_REPLICA_URL = 'postgresql://b/store';
    expect(readConfig({ DATABASE_URL, DATABASE_REPLICA_URL })).toMatchObject({
      replicaUrl: DATABASE_REPLICA_URL,
    });
    expect(() => readConfig({ DATABASE_REPLICA_URL })).toThrow(
      'DATABASE_REPLICA_URL requires DATABASE_URL.',
    );
  });
});

it('docs/configuration.md contains the table that `npm run fix` writes, with every variable', () => {
  const document = readFileSync('docs/configuration.md', 'utf8');
  expect(document).toBe(withPrinted(document));
  const names = [...document.matchAll(/^\| `([A-Z_]+)` +\|/gm)].map(([, name]) => name);
  expect(names).toEqual(Object.keys(Variables.shape));
});
