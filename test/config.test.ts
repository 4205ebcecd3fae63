import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

import { describe, expect, it } from 'vitest';

import { ConfigError, readConfig } from '../src/config.ts';
import { spawnProgram } from './support/program.ts';

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
  it('needs nothing', () => {
    expect(readConfig({})).toMatchObject(DEFAULTS);
  });

  it('takes an empty variable for one that is not set', () => {
    const source = readFileSync(new URL('../src/config.ts', import.meta.url), 'utf8');
    const names = [...source.matchAll(/^ {2}([A-Z_]+):/gm)].map(([, name]) => name);
    expect(names.length).toBeGreaterThan(10);
    const environment = Object.fromEntries(names.map((name) => [name, '']));
    expect(readConfig(environment)).toEqual(readConfig({}));
  });

  it('ignores variables of others', () => {
    expect(readConfig({ PATH: '/bin', port: '1' })).toEqual(readConfig({}));
  });

  it.each([
    ['HOST', '0.0.0.0', { host: '0.0.0.0' }],
    ['HOST', '::1', { host: '::1' }],
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
  ])('takes %s=%s', (name, value, expected) => {
    expect(readConfig({ [name]: value })).toMatchObject({ ...DEFAULTS, ...expected });
  });

  it.each(['postgresql://me:secret@db:5432/store', 'postgres://localhost/store?sslmode=require'])(
    'takes DATABASE_URL=%s, and fills no sample store there unless asked to',
    (databaseUrl) => {
      const environment = { DATABASE_URL: databaseUrl };
      expect(readConfig(environment)).toMatchObject({ databaseUrl, sampleStore: false });
      const asked = readConfig({ ...environment, SAMPLE_STORE: 'true' });
      expect(asked).toMatchObject({ databaseUrl, sampleStore: true });
    },
  );

  it.each([
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
  ])('refuses %s=%s, naming the variable', (name, value) => {
    const read = () => readConfig({ [name]: value });
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(new RegExp(`^${name} (has to|can)[^:]*`));
  });

  it('refuses several workers on the embedded database, which is for one process', () => {
    expect(() => readConfig({ WORKERS: '2' })).toThrow(/^WORKERS needs DATABASE_URL/);
    const environment = { WORKERS: '2', DATABASE_URL: 'postgresql://localhost/store' };
    expect(readConfig(environment)).toMatchObject({ workers: 2 });
  });

  it('names every variable that is wrong at once', () => {
    expect(() => readConfig({ PORT: 'a', LOG_LEVEL: 'b' })).toThrow(/PORT .*LOG_LEVEL /s);
  });

  it('shows no password of a bad DATABASE_URL', () => {
    expect(() => readConfig({ DATABASE_URL: 'mysql://me:hunter2@db/store' })).toThrow(
      /^(?!.*hunter2)/s,
    );
  });

  it('can not be changed', () => {
    expect(Object.isFrozen(readConfig({}))).toBe(true);
  });
});

describe('a start with a configuration that does not work', () => {
  it.each([
    [{ PORT: 'abc' }, 'PORT has to be a whole number, 0 to 65535.'],
    [
      { DATABASE_URL: 'postgresql://me:hunter2@127.0.0.1:1/store' },
      'DATABASE_URL: connect ECONNREFUSED 127.0.0.1:1.',
    ],
  ])('ends with one sentence that names the variable: %j', async (environment, sentence) => {
    const program = spawnProgram('main', environment);
    expect(await program.end).toBe(1);
    expect(program.messages).toEqual([sentence]);
  });
});
