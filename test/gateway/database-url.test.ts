import { describe, expect, it } from 'vitest';

import { ConfigError, readConfig } from '../../src/gateway/config/config.ts';
import { toServerUrl } from '../../src/gateway/config/database-url.ts';

const MESSAGE =
  'DATABASE_URL must look like postgresql://user@host:5432/name, with each @, /, ? and # in the password percent-encoded (@ as %40).';

describe('DATABASE_URL', () => {
  it.each([
    [
      'postgresql://me@a/store?sslmode=require&channel_binding=require',
      'postgresql://me@a/store?sslmode=verify-full',
    ],
    // The last @ ends the password.
    [
      'postgresql://me@team:one@two,three@a/store',
      'postgresql://me%40team:one%40two,three@a/store',
    ],
    ['postgresql://a/store?user=me@team', 'postgresql://a/store?user=me%40team'],
    [
      'postgresql://a/store?target_session_attrs=read-write&sslmode=require',
      'postgresql://a/store?sslmode=verify-full',
    ],
    [
      'postgresql://a/store?sslmode=require&uselibpqcompat=true',
      'postgresql://a/store?sslmode=require&uselibpqcompat=true',
    ],
    ['postgresql://:1/s?host=/run&sslmode=require', 'postgresql://%2Frun:1/s'],
    [
      'postgresql://a/store?options=-cx%3D1&schema=My+"store"',
      'postgresql://a/store?options=-cx%3D1+-csearch_path%3D%22My%5C+%22%22store%22%22%22',
    ],
  ])('accepts %s, which pg gets as %s', (databaseUrl, url) => {
    expect(readConfig({ DATABASE_URL: databaseUrl })).toMatchObject({ databaseUrl });
    expect(toServerUrl(databaseUrl)).toBe(url);
  });

  it.each([
    'mysql://me:hunter2@a,b/store',
    'postgresql://b/store,postgresql://c/store',
    'postgresql://me:hunter2@/store',
    'postgresql://a/store?port=1,2',
    'postgresql://a/store?password=hunter#2',
  ])('rejects %s', (databaseUrl) => {
    const read = () => readConfig({ DATABASE_URL: databaseUrl });
    expect(read).toThrow(new ConfigError(MESSAGE));
  });
});

describe.each(['DATABASE_URL', 'DATABASE_REPLICA_URL'])('%s', (name) => {
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
    const url = `postgresql://me:hunter2@a/store?application_name=x&${parameter}`;
    const read = () => readConfig({ DATABASE_URL: 'postgresql://a/store', [name]: url });
    expect(read).toThrow(`${name} ${message}`);
    expect(read).not.toThrow('hunter2');
  });
});

it('PGBOUNCER=true does not allow a schema in the URL, which a pooler does not keep apart for each client', () => {
  const environment = { DATABASE_URL: 'postgresql://a/store?schema=b', PGBOUNCER: 'true' };
  expect(() => readConfig(environment)).toThrow('search_path to be set for the role');
});

it.each(['DATABASE_URL', 'DATABASE_REPLICA_URL'])(
  '%s rejects several hosts with a sentence that names the address for writes and the one for reads',
  (name) => {
    for (const url of [
      'postgresql://me:hunter2@a,b:5433/store',
      'postgresql://[::1],10.0.0.1/store',
      'postgresql:///store?host=a,b',
      'postgresql://a/store?host=a,b&port=5432,5433',
    ]) {
      const environment = { DATABASE_URL: 'postgresql://a/store', [name]: url };
      expect(() => readConfig(environment)).toThrow(
        new ConfigError(
          `${name} must name one host, such as that of HAProxy: DATABASE_URL is the address for writes, DATABASE_REPLICA_URL for reads.`,
        ),
      );
    }
  },
);

it.each(['DATABASE_URL', 'DATABASE_REPLICA_URL'])(
  '%s rejects unencoded special characters in a password, and the message does not contain the password',
  (name) => {
    // Each string is placed between digits, which could be mistaken for a port.
    for (const text of '/ ? # @/ @? @# /@ ?@ #@ @a/ ,/ /? %2/'.split(' ')) {
      for (const hosts of ['db', 'db:5432', 'a,b']) {
        const url = `postgresql://me:1${text}2@${hosts}/store`;
        const environment = { DATABASE_URL: 'postgresql://a/store', [name]: url };
        expect(() => readConfig(environment)).toThrow(
          new ConfigError(MESSAGE.replace('DATABASE_URL', name)),
        );
      }
    }
  },
);
