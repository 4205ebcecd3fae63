import { resolve } from 'node:path';

import { describe, expect, it } from 'vitest';

import { ConfigError, readConfig } from '../../src/gateway/config/config.ts';
import { toServerUrl } from '../../src/gateway/config/database-url.ts';
import { Variables } from '../../src/gateway/config/variables.ts';

const NAMES = Object.keys(Variables.shape);
const SECRET = 'a secret that is long enough for HS256';
const SECRET_KEY = new TextEncoder().encode(SECRET);
const TOKEN = { issuer: 'https://login.example/', audience: 'pet-store' };
const JWT = {
  AUTH: 'jwt',
  AUTH_SECRET: SECRET,
  AUTH_ISSUER: TOKEN.issuer,
  AUTH_AUDIENCE: TOKEN.audience,
};
const byKeys = (AUTH_JWKS_URL: string) => ({ ...JWT, AUTH_SECRET: '', AUTH_JWKS_URL });
const DATABASE_URL = 'postgres://localhost/store';
const TRUSTED = { DOCUMENTS: 'trusted', DOCUMENTS_MANIFEST: 'trusted.json' };
const PRODUCTION = { NODE_ENV: 'production' };
const SHOWN = { graphiql: true, introspection: true };
const HIDDEN = { graphiql: false, introspection: false };
const KEYS = 'https://login.example/keys';

describe('the configuration', () => {
  it.each<[environment: Record<string, string>, expected: object]>([
    [Object.fromEntries(NAMES.map((name) => [name, ''])), readConfig({})],
    [{ HOST: '[::1]' }, { host: '::1' }],
    [{ DATA_DIR: 'here' }, { dataDir: resolve('here') }],
    [{ IDEMPOTENCY_HOURS: '1' }, { idempotencyMs: 3_600_000 }],
    [{ DOCUMENTS_MANIFEST: 'trusted.json' }, { manifest: resolve('trusted.json') }],
    [{ CORS_ORIGINS: 'https://a, tauri://b:1' }, { corsOrigins: ['https://a', 'tauri://b:1'] }],
    [{ SUNSET: 'enforce' }, { enforceSunset: true }],
    [{ SUNSET_DATE: '2028-02-29' }, { sunset: new Date('2028-02-29T00:00:00Z') }],
    [{ DATABASE_URL }, { sampleStore: false }],
    [{ DATABASE_URL, SAMPLE_STORE: 'true' }, { sampleStore: true }],
    [{ DATABASE_URL, DATABASE_REPLICA_URL: DATABASE_URL }, { replicaUrl: DATABASE_URL }],
    [JWT, { ...SHOWN, auth: { ...TOKEN, key: SECRET_KEY, readIsOpen: false } }],
    [{ ...byKeys(KEYS), AUTH_READ: 'open' }, { auth: { key: new URL(KEYS), readIsOpen: true } }],
    [byKeys('http://127.0.0.1:1/a'), { auth: { ...TOKEN, key: new URL('http://127.0.0.1:1/a') } }],
    [PRODUCTION, SHOWN],
    [{ ...JWT, ...PRODUCTION }, HIDDEN],
    [{ ...JWT, ...PRODUCTION, GRAPHIQL: 'true', INTROSPECTION: 'true' }, SHOWN],
    [TRUSTED, { graphiql: false, introspection: true }],
  ])('is read from %j', (environment, expected) => {
    expect(readConfig(environment)).toMatchObject(expected);
  });

  it.each<[environment: Record<string, string>, warning: RegExp]>([
    [{ NODE_ENV: 'prod' }, /^NODE_ENV=prod has the effect of NODE_ENV=development\.$/],
    [{ PGBOUNCER: 'true' }, /^PGBOUNCER=true has no effect without DATABASE_URL\.$/],
    [{ AUTH_READ: 'open' }, /^AUTH_READ=open has no effect with AUTH=none\.$/],
    [{ ...JWT, AUTH_NONE_ANYWHERE: 'true' }, /^AUTH_NONE_ANYWHERE=true has no effect with AUTH/],
  ])('causes a warning, because a setting has no effect: %j', (environment, warning) => {
    expect(readConfig(environment).warnings).toEqual([expect.stringMatching(warning)]);
  });

  it.each([
    {},
    ...['development', 'production', 'test'].map((NODE_ENV) => ({ NODE_ENV })),
    { DATABASE_URL, PGBOUNCER: 'true' },
    { ...JWT, AUTH_READ: 'open' },
    { HOST: '0.0.0.0', AUTH_NONE_ANYWHERE: 'true' },
  ])('causes no warning: %j', (environment) => {
    expect(readConfig(environment).warnings).toEqual([]);
  });

  it.each([
    { HOST: '[localhost]' },
    { PORT: '65536' },
    { PGBOUNCER: 'yes' },
    { REQUEST_TIMEOUT_MS: '99' },
    { AUTH_JWKS_URL: 'http://login.example/keys' },
    { CORS_ORIGINS: 'https://shop.example/' },
    { CORS_ORIGINS: 'null' },
    { CORS_ORIGINS: 'https://*.example.com' },
    { CORS_ORIGINS: 'https://shop.example:443' },
    { CORS_ORIGINS: 'capacitor://localhost/' },
    { SUNSET_DATE: '2027-02-30' },
    { LOG_LEVEL: 'INFO' },
  ])('is rejected with a message that names the variable: %j', (environment) => {
    const read = () => readConfig(environment);
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(new RegExp(`^${Object.keys(environment).join()} (must|cannot|can)[^:]*`));
  });

  it.each<[environment: Record<string, string>, sentence: string | RegExp]>([
    [{ ...JWT, AUTH: 'none' }, /^AUTH_SECRET requires AUTH=jwt\. AUTH_ISSUER .*\. AUTH_AUDIENCE /],
    [{ ...JWT, AUTH_SECRET: '' }, 'AUTH=jwt requires either'],
    [{ ...JWT, AUTH_JWKS_URL: KEYS }, 'AUTH=jwt requires either'],
    [{ ...JWT, AUTH_ISSUER: '' }, 'AUTH=jwt requires AUTH_ISSUER'],
    [{ ...JWT, AUTH_AUDIENCE: '' }, 'AUTH=jwt requires AUTH_ISSUER and AUTH_AUDIENCE'],
    [byKeys('https://:hunter2@login.example/keys'), /^AUTH_JWKS_URL .*, without a password\.$/],
    [byKeys('https://hunter2@login.example/keys'), /^AUTH_JWKS_URL .*, without a password\.$/],
    [{ DOCUMENTS: 'trusted' }, /DOCUMENTS_MANIFEST/],
    [{ DATABASE_REPLICA_URL: DATABASE_URL }, 'DATABASE_REPLICA_URL requires DATABASE_URL.'],
    [{ DATABASE_URL: 'postgres://a/s?schema=b', PGBOUNCER: 'true' }, 'search_path to be set for'],
    // Each invalid variable is in the message, and no secret.
    [
      { PORT: 'a', LOG_LEVEL: 'b', AUTH_SECRET: 'hunter2' },
      /^(?!.*hunter2)PORT must be .*\. AUTH_SECRET must be .*\. LOG_LEVEL must be /,
    ],
    [{ DOCUMENTS: 'trusted', AUTH: 'jwt' }, /^DOCUMENTS=trusted .*\. AUTH=jwt .*\. AUTH=jwt /],
    // Settings of earlier releases.
    [{ WORKERS: '1' }, 'WORKERS has been removed: start several gateways behind a load balancer'],
    [{ DATABASE_REPLICA_URLS: 'a' }, 'has been replaced by DATABASE_REPLICA_URL: '],
    [{ REPLICA_MAX_LAG_MS: '1' }, 'has been removed: limit the lag in the load balancer'],
  ])('is rejected with what to do instead: %j', (environment, sentence) => {
    expect(() => readConfig(environment)).toThrow(sentence);
  });

  it.each(['0.0.0.0', '::', 'gateway.example', '127.0.0.1.example'])(
    'requires AUTH=jwt or AUTH_NONE_ANYWHERE=true for HOST=%s, which other machines may reach',
    (HOST) => {
      expect(() => readConfig({ HOST })).toThrow(/^HOST .* AUTH=jwt, or AUTH_NONE_ANYWHERE=true/);
      for (const environment of [JWT, { AUTH_NONE_ANYWHERE: 'true' }]) {
        const expected = { host: HOST, checksHost: false };
        expect(readConfig({ HOST, ...environment })).toMatchObject(expected);
      }
    },
  );
});

it.each([
  [
    'postgresql://a/s?sslmode=require&channel_binding=require',
    'postgresql://a/s?sslmode=verify-full',
  ],
  // The last @ ends the password.
  ['postgresql://me@team:one@two,three@a/store', 'postgresql://me%40team:one%40two,three@a/store'],
  ['postgresql://a/store?user=me@team', 'postgresql://a/store?user=me%40team'],
  [
    'postgresql://a/s?target_session_attrs=read-write&sslmode=require',
    'postgresql://a/s?sslmode=verify-full',
  ],
  [
    'postgresql://a/s?sslmode=require&uselibpqcompat=true',
    'postgresql://a/s?sslmode=require&uselibpqcompat=true',
  ],
  ['postgresql://:1/s?host=/run&sslmode=require', 'postgresql://%2Frun:1/s'],
  [
    'postgresql://a/store?options=-cx%3D1&schema=My+"store"',
    'postgresql://a/store?options=-cx%3D1+-csearch_path%3D%22My%5C+%22%22store%22%22%22',
  ],
])('DATABASE_URL=%s is what pg gets as %s', (databaseUrl, url) => {
  expect(readConfig({ DATABASE_URL: databaseUrl })).toMatchObject({ databaseUrl });
  expect(toServerUrl(databaseUrl)).toBe(url);
});

describe.each(['DATABASE_URL', 'DATABASE_REPLICA_URL'])('%s', (name) => {
  const readWith = (url: string) => () => readConfig({ DATABASE_URL, [name]: url });
  const malformed = new ConfigError(
    `${name} must look like postgresql://user@host:5432/name, with each @, /, ? and # in the password percent-encoded (@ as %40).`,
  );

  it.each([
    ['ssl_mode=verify-full', 'must not have the parameter ssl_mode; known parameters: '],
    ['connect_timeout=9', 'must not have the parameter connect_timeout: set CONNECT_TIMEOUT_MS'],
    ['pgbouncer=true', 'must not have the parameter pgbouncer: set PGBOUNCER instead'],
    ['sslmode=allow', 'needs one of these values for the parameter sslmode: disable, '],
    ['channel_binding=require', 'needs sslmode=verify-full for channel_binding=require'],
    [
      'sslmode=require&uselibpqcompat=true&channel_binding=require',
      'needs sslmode=verify-full for channel_binding=require',
    ],
    // The parameter could be the end of a password.
    ['password=s&hunter2', 'must not have an unknown parameter; '],
  ])('rejects the parameter %s', (parameter, message) => {
    const read = readWith(`postgresql://me:hunter2@a/store?application_name=x&${parameter}`);
    expect(read).toThrow(`${name} ${message}`);
    expect(read).not.toThrow('hunter2');
  });

  it.each([
    'mysql://me:hunter2@a,b/store',
    'postgresql://b/store,postgresql://c/store',
    'postgresql://me:hunter2@/store',
    'postgresql://a/store?port=1,2',
    'postgresql://a/store?password=hunter#2',
  ])('rejects %s', (url) => {
    expect(readWith(url)).toThrow(malformed);
  });

  it('rejects several hosts with a sentence that names the address for writes and the one for reads', () => {
    for (const url of [
      'postgresql://me:hunter2@a,b:5433/store',
      'postgresql://[::1],10.0.0.1/store',
      'postgresql:///store?host=a,b',
      'postgresql://a/store?host=a,b&port=5432,5433',
    ]) {
      expect(readWith(url)).toThrow(
        new ConfigError(
          `${name} must name one host, such as that of HAProxy: DATABASE_URL is the address for writes, DATABASE_REPLICA_URL for reads.`,
        ),
      );
    }
  });

  it('rejects unencoded special characters in a password, and the message does not contain the password', () => {
    // Each string is placed between digits, which could be mistaken for a port.
    for (const text of '/ ? # @/ @? @# /@ ?@ #@ @a/ ,/ /? %2/'.split(' ')) {
      for (const hosts of ['db', 'db:5432', 'a,b']) {
        expect(readWith(`postgresql://me:1${text}2@${hosts}/store`)).toThrow(malformed);
      }
    }
  });
});
