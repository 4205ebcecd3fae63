import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

import { describe, expect, it } from 'vitest';

import { withTable } from '../../scripts/print-configuration.ts';
import { ConfigError, readConfig } from '../../src/config/config.ts';
import { Variables } from '../../src/config/variables.ts';
import { spawnProgram } from '../support/program.ts';

const DEFAULTS = {
  host: '127.0.0.1',
  port: 4000,
  dataDir: resolve('.data'),
  databaseUrl: undefined,
  pgbouncer: false,
  poolSize: 10,
  connectTimeoutMs: 5000,
  statementTimeoutMs: 10_000,
  migrate: true,
  idempotencyMs: 86_400_000,
  requestTimeoutMs: 30_000,
  answerTimeoutMs: 30_000,
  limits: {
    maxBodyBytes: 1_000_000,
    maxHeaderBytes: 16_384,
    maxUrlBytes: 8000,
    maxDocumentLength: 50_000,
    maxTokens: 5000,
    maxDepth: 20,
    maxAliases: 100,
    maxDirectives: 50,
    maxFragments: 50,
    maxRootFields: 50,
    maxListSize: 100,
    maxTextLength: 10_000,
    maxCost: 100_000,
  },
  documents: 'any',
  manifest: undefined,
  auth: undefined,
  checksHost: true,
  graphiql: true,
  introspection: true,
  workers: 1,
  stopDelayMs: 1000,
  stopTimeoutMs: 30_000,
  sampleStore: true,
  corsOrigins: [],
  sunset: new Date('2027-12-31T00:00:00Z'),
  enforceSunset: false,
  logLevel: 'info',
};

describe('the configuration', () => {
  it('has a default for everything', () => {
    expect(readConfig({})).toMatchObject(DEFAULTS);
  });

  it('treats an empty variable as not set', () => {
    const names = Object.keys(Variables.shape);
    const environment = Object.fromEntries(names.map((name) => [name, '']));
    expect(readConfig(environment)).toEqual(readConfig({}));
  });

  it('ignores variables of other programs', () => {
    expect(readConfig({ PATH: '/bin', port: '1' })).toEqual(readConfig({}));
  });

  it.each([
    ['HOST', 'localhost', { host: 'localhost' }],
    ['HOST', '127.0.0.2', { host: '127.0.0.2' }],
    ['HOST', '::1', { host: '::1' }],
    ['HOST', '[::1]', { host: '::1' }],
    ['PORT', '8080', { port: 8080 }],
    ['PORT', '0', { port: 0 }],
    ['PORT', '65535', { port: 65_535 }],
    ['DATA_DIR', '/var/lib/store', { dataDir: '/var/lib/store' }],
    ['DATA_DIR', 'here', { dataDir: resolve('here') }],
    ['PGBOUNCER', 'true', { pgbouncer: true }],
    ['POOL_SIZE', '1', { poolSize: 1 }],
    ['CONNECT_TIMEOUT_MS', '100', { connectTimeoutMs: 100 }],
    ['STATEMENT_TIMEOUT_MS', '60000', { statementTimeoutMs: 60_000 }],
    ['MIGRATE', 'false', { migrate: false }],
    ['IDEMPOTENCY_HOURS', '1', { idempotencyMs: 3_600_000 }],
    ['REQUEST_TIMEOUT_MS', '100', { requestTimeoutMs: 100 }],
    ['REQUEST_TIMEOUT_MS', '600000', { requestTimeoutMs: 600_000 }],
    ['ANSWER_TIMEOUT_MS', '100', { answerTimeoutMs: 100 }],
    ['MAX_DEPTH', '7', { limits: { ...DEFAULTS.limits, maxDepth: 7 } }],
    ['MAX_ALIASES', '0', { limits: { ...DEFAULTS.limits, maxAliases: 0 } }],
    ['DOCUMENTS', 'automatic', { documents: 'automatic' }],
    ['DOCUMENTS_MANIFEST', 'trusted.json', { manifest: resolve('trusted.json') }],
    ['GRAPHIQL', 'false', { graphiql: false }],
    ['INTROSPECTION', 'false', { introspection: false }],
    ['NODE_ENV', 'production', { graphiql: true, introspection: true }],
    ['WORKERS', '1', { workers: 1 }],
    ['STOP_DELAY_MS', '0', { stopDelayMs: 0 }],
    ['STOP_TIMEOUT_MS', '0', { stopTimeoutMs: 0 }],
    ['SAMPLE_STORE', 'false', { sampleStore: false }],
    ['SAMPLE_STORE', 'true', { sampleStore: true }],
    ['CORS_ORIGINS', '*', { corsOrigins: ['*'] }],
    [
      'CORS_ORIGINS',
      'https://shop.example, http://localhost:3000',
      { corsOrigins: ['https://shop.example', 'http://localhost:3000'] },
    ],
    ['SUNSET', 'enforce', { enforceSunset: true }],
    ['SUNSET_DATE', '2028-02-29', { sunset: new Date('2028-02-29T00:00:00Z') }],
    ['SUNSET_DATE', '2026-11-01', { sunset: new Date('2026-11-01T00:00:00Z') }],
    ['LOG_LEVEL', 'debug', { logLevel: 'debug' }],
    ['LOG_LEVEL', 'silent', { logLevel: 'silent' }],
  ])('accepts %s=%s', (name, value, expected) => {
    expect(readConfig({ [name]: value })).toMatchObject({ ...DEFAULTS, ...expected });
  });

  it.each(['postgresql://me:secret@db:5432/store', 'postgres://localhost/store?sslmode=require'])(
    'accepts DATABASE_URL=%s, and fills no sample store there by default',
    (databaseUrl) => {
      const environment = { DATABASE_URL: databaseUrl };
      expect(readConfig(environment)).toMatchObject({ databaseUrl, sampleStore: false });
      const filled = readConfig({ ...environment, SAMPLE_STORE: 'true' });
      expect(filled).toMatchObject({ databaseUrl, sampleStore: true });
    },
  );

  it.each([
    ['HOST', 'two hosts'],
    ['HOST', 'http://127.0.0.1'],
    ['HOST', '[localhost]'],
    ['HOST', '[::1'],
    ['PORT', 'abc'],
    ['PORT', '-1'],
    ['PORT', '65536'],
    ['PORT', '80.5'],
    ['PORT', '1e3'],
    ['PORT', '0x50'],
    ['PORT', ' 80'],
    ['PORT', '80 '],
    ['DATABASE_URL', 'nonsense'],
    ['DATABASE_URL', 'mysql://localhost/store'],
    ['DATABASE_URL', 'http://localhost/store'],
    ['DATABASE_URL', 'localhost:5432/store'],
    ['PGBOUNCER', 'yes'],
    ['POOL_SIZE', '0'],
    ['POOL_SIZE', '1001'],
    ['CONNECT_TIMEOUT_MS', '99'],
    ['CONNECT_TIMEOUT_MS', '5s'],
    ['STATEMENT_TIMEOUT_MS', '0'],
    ['STATEMENT_TIMEOUT_MS', '99999999999999999999'],
    ['MIGRATE', '0'],
    ['IDEMPOTENCY_HOURS', '0.5'],
    ['REQUEST_TIMEOUT_MS', '99'],
    ['REQUEST_TIMEOUT_MS', '600001'],
    ['ANSWER_TIMEOUT_MS', '0'],
    ['MAX_BODY_BYTES', '999'],
    ['MAX_HEADER_BYTES', '1999'],
    ['MAX_URL_BYTES', '99'],
    ['MAX_DOCUMENT_LENGTH', 'long'],
    ['MAX_TOKENS', '9'],
    ['MAX_DEPTH', '0'],
    ['MAX_ALIASES', '-1'],
    ['MAX_DIRECTIVES', 'none'],
    ['MAX_FRAGMENTS', 'few'],
    ['MAX_ROOT_FIELDS', '0'],
    ['MAX_LIST_SIZE', '19'],
    ['MAX_LIST_SIZE', '1001'],
    ['MAX_TEXT_LENGTH', '1999'],
    ['MAX_COST', '0'],
    ['DOCUMENTS', 'some'],
    ['AUTH', 'basic'],
    ['AUTH_NONE_ANYWHERE', 'yes'],
    ['AUTH_JWKS_URL', 'http://login.example/keys'],
    ['AUTH_JWKS_URL', 'file:///etc/keys'],
    ['AUTH_SECRET', 'shorter than 32 bytes'],
    ['AUTH_READ', 'closed'],
    ['GRAPHIQL', 'on'],
    ['INTROSPECTION', '0'],
    ['WORKERS', '0'],
    ['WORKERS', '257'],
    ['WORKERS', 'auto'],
    ['STOP_DELAY_MS', '-1'],
    ['STOP_TIMEOUT_MS', 'never'],
    ['SAMPLE_STORE', 'yes'],
    ['SAMPLE_STORE', '1'],
    ['SAMPLE_STORE', 'TRUE'],
    ['CORS_ORIGINS', 'shop.example'],
    ['CORS_ORIGINS', 'https://shop.example/'],
    ['CORS_ORIGINS', 'https://shop.example/path'],
    ['CORS_ORIGINS', 'https://shop.example,,'],
    ['CORS_ORIGINS', 'null'],
    ['SUNSET', 'true'],
    ['SUNSET_DATE', 'tomorrow'],
    ['SUNSET_DATE', '31.12.2027'],
    ['SUNSET_DATE', '2027-13-01'],
    ['SUNSET_DATE', '2027-02-30'],
    ['SUNSET_DATE', '2027-12-31T00:00:00Z'],
    ['SUNSET_DATE', '2026-10-31'],
    ['LOG_LEVEL', 'loud'],
    ['LOG_LEVEL', 'INFO'],
  ])('rejects %s=%s with a message that names the variable', (name, value) => {
    const read = () => readConfig({ [name]: value });
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(new RegExp(`^${name} (must|cannot|can)[^:]*`));
  });

  it('rejects several workers on the embedded database, which is for one process', () => {
    expect(() => readConfig({ WORKERS: '2' })).toThrow(/^WORKERS needs DATABASE_URL/);
    const environment = { WORKERS: '2', DATABASE_URL: 'postgresql://localhost/store' };
    expect(readConfig(environment)).toMatchObject({ workers: 2 });
  });

  const JWT = {
    AUTH: 'jwt',
    AUTH_SECRET: 'a secret that is long enough for HS256',
    AUTH_ISSUER: 'https://login.example/',
    AUTH_AUDIENCE: 'pet-store',
  };

  it.each([
    ['0.0.0.0', {}],
    ['::', { AUTH: 'none' }],
    ['192.168.1.7', {}],
    ['gateway.example', {}],
    ['127.0.0.1.example', {}],
  ])('rejects HOST=%s, which other machines reach, with %j', (HOST, environment) => {
    const read = () => readConfig({ HOST, ...environment });
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(/^HOST .* AUTH=jwt, or AUTH_NONE_ANYWHERE=true/);
  });

  it('accepts a HOST that other machines reach with AUTH=jwt or AUTH_NONE_ANYWHERE=true', () => {
    expect(readConfig({ HOST: '0.0.0.0', ...JWT })).toMatchObject({ checksHost: false });
    const anywhere = { HOST: '0.0.0.0', AUTH: 'none', AUTH_NONE_ANYWHERE: 'true' };
    expect(readConfig(anywhere)).toMatchObject({
      host: '0.0.0.0',
      auth: undefined,
      checksHost: false,
    });
  });

  it('takes the key of tokens from a secret or a URL', () => {
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

  it.each(['me:hunter2@', ':hunter2@', 'hunter2@', 'me%40:hunter2@'])(
    'rejects AUTH_JWKS_URL with credentials, and keeps them out of the message: %s',
    (credentials) => {
      for (const place of ['https://%login.example/keys', 'http://%127.0.0.1:9/keys']) {
        const AUTH_JWKS_URL = place.replace('%', credentials);
        const read = () => readConfig({ ...JWT, AUTH_SECRET: '', AUTH_JWKS_URL });
        expect(read).toThrow(ConfigError);
        expect(read).toThrow(/^AUTH_JWKS_URL must have no user name and no password\.$/);
      }
    },
  );

  it.each([
    [{ AUTH: 'none' }, /^AUTH_SECRET needs AUTH=jwt\. AUTH_ISSUER needs AUTH=jwt\. AUTH_AUDIENCE /],
    [{ AUTH: '' }, /^AUTH_SECRET needs AUTH=jwt\./],
    [{ AUTH_NONE_ANYWHERE: 'true' }, /^AUTH_NONE_ANYWHERE has no effect with AUTH=jwt/],
    [{ AUTH_SECRET: '' }, 'AUTH=jwt needs either'],
    [{ AUTH_JWKS_URL: 'https://login.example/keys' }, 'AUTH=jwt needs either'],
    [{ AUTH_ISSUER: '' }, 'AUTH=jwt needs AUTH_ISSUER'],
    [{ AUTH_AUDIENCE: '' }, 'AUTH=jwt needs AUTH_ISSUER and AUTH_AUDIENCE'],
  ])('rejects an incomplete configuration of tokens: %j', (environment, sentence) => {
    const read = () => readConfig({ ...JWT, ...environment });
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(sentence);
  });

  it('hides GraphiQL and the schema by default in production with tokens', () => {
    const hidden = { graphiql: false, introspection: false };
    expect(readConfig({ ...JWT, NODE_ENV: 'production' })).toMatchObject(hidden);
    const shown = { graphiql: true, introspection: true };
    expect(readConfig(JWT)).toMatchObject(shown);
    const explicit = { NODE_ENV: 'production', GRAPHIQL: 'true', INTROSPECTION: 'true' };
    expect(readConfig({ ...JWT, ...explicit })).toMatchObject(shown);
  });

  it('needs a manifest for DOCUMENTS=trusted, and turns GraphiQL off', () => {
    expect(() => readConfig({ DOCUMENTS: 'trusted' })).toThrow(/DOCUMENTS_MANIFEST/);
    const trusted = { DOCUMENTS: 'trusted', DOCUMENTS_MANIFEST: 'trusted.json' };
    expect(readConfig(trusted)).toMatchObject({ graphiql: false, introspection: true });
  });

  it('keeps a wrong AUTH_SECRET out of the message', () => {
    expect(() => readConfig({ ...JWT, AUTH_SECRET: 'hunter2' })).toThrow(/^(?!.*hunter2)/s);
  });

  it('names all wrong variables in one message', () => {
    expect(() => readConfig({ PORT: 'a', LOG_LEVEL: 'b' })).toThrow(
      'PORT must be a whole number, 0 to 65535. LOG_LEVEL must be debug, info, warn, error or silent.',
    );
    expect(() => readConfig({ WORKERS: '2', AUTH: 'jwt' })).toThrow(
      /^WORKERS needs .*\. AUTH=jwt needs either .*\. AUTH=jwt needs AUTH_ISSUER .*\.$/,
    );
  });

  it('keeps the password of a wrong DATABASE_URL out of the message', () => {
    expect(() => readConfig({ DATABASE_URL: 'mysql://me:hunter2@db/store' })).toThrow(
      /^(?!.*hunter2)/s,
    );
  });

  it('is frozen', () => {
    const config = readConfig(JWT);
    expect([config, config.limits, config.auth].every(Object.isFrozen)).toBe(true);
  });
});

describe('docs/configuration.md', () => {
  it('has the table of the variables as `npm run configuration` prints it', () => {
    const document = readFileSync('docs/configuration.md', 'utf8');
    expect(document).toMatch(/<!-- variables -->.+<!-- \/variables -->/s);
    expect(document).toBe(withTable(document));
  });

  it('describes every variable, with its default and its values', () => {
    const table = withTable('<!-- variables -->\n\n-\n\n<!-- /variables -->');
    const names = [...table.matchAll(/^\| `([A-Z_]+)` +\|/gm)].map(([, name]) => name);
    expect(names).toEqual(Object.keys(Variables.shape));
    expect(table).not.toContain('undefined');
    expect(table).toMatch(/^\| `PORT` +\| `4000` +\| The port .* Values: 0 to 65535\. +\|$/m);
    expect(table).toMatch(/^\| `SUNSET_DATE` +\| `2027-12-31` +\| The sunset /m);
    expect(table).toMatch(/^\| `CORS_ORIGINS` +\| {2,}\| The origins /m);
    expect(table).toMatch(/^\| `AUTH_READ` +\| `scope` +\| .* Values: `open` or `scope`\. +\|$/m);
  });
});

describe('a start with a wrong configuration', () => {
  it.each([
    [{ PORT: 'abc' }, 'PORT must be a whole number, 0 to 65535.'],
    [
      { DATABASE_URL: 'postgresql://me:hunter2@127.0.0.1:1/store' },
      'DATABASE_URL: connect ECONNREFUSED 127.0.0.1:1.',
    ],
  ])(
    'logs one sentence that names the variable, and exits with code 1: %j',
    async (environment, sentence) => {
      const program = spawnProgram('main', environment);
      expect(await program.end).toBe(1);
      expect(program.messages).toEqual([sentence]);
    },
  );
});
