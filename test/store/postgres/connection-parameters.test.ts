import { execFileSync } from 'node:child_process';
import { chmod, chown, stat } from 'node:fs/promises';
import { join } from 'node:path';

import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { useFolder } from '../../support/folders.ts';
import { type OwnServer, runSql, startPostgres } from '../../support/postgres.ts';
import { openStore } from '../../support/start.ts';

const folder = useFolder();
let server: OwnServer;

/** Creates a certificate for `localhost` that signs itself, and its key. */
function createCertificate(certificate: string, key: string): void {
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  const files = ['-out', certificate, '-keyout', key];
  execFileSync('openssl', ['req', '-x509', ...kind, ...names, ...files], { stdio: 'ignore' });
}

beforeAll(async () => {
  await chmod(folder, 0o777);
  server = await startPostgres([`unix_socket_directories=${folder}`]);
  const key = join(server.dataFolder, 'server.key');
  createCertificate(join(folder, 'server.crt'), key);
  createCertificate(join(folder, 'other.crt'), join(folder, 'other.key'));
  execFileSync('cp', [join(folder, 'server.crt'), server.dataFolder]);
  const { uid, gid } = await stat(server.dataFolder);
  await chown(key, uid, gid);
  await runSql(server.url, 'alter system set ssl = on');
  await server.stop();
  await server.start();
});
afterAll(() => server.remove());

/** Opens the database with a URL; returns how its first session is connected, and the schema of its tables. */
async function openAt(place: string, parameters: string): Promise<unknown> {
  const at = place.replace('PORT', `${server.port}`);
  const given = parameters.replace('FOLDER', folder).replace('PORT', `${server.port}`);
  const url = `postgresql://store:store@${at}/postgres?${given}`;
  const db = await openStore({ DATABASE_URL: url });
  const [session] = await db.query(
    sql`select ssl as encrypted, (select relnamespace::regnamespace::text from pg_class
        where oid = 'pets'::regclass) as tables from pg_stat_ssl where pid = pg_backend_pid()`,
  );
  await db.close();
  return session;
}

describe('a connection to PostgreSQL', () => {
  it.each([
    ['localhost:PORT', 'sslmode=disable', false],
    ['localhost:PORT', 'sslmode=no-verify', true],
    ['localhost:PORT', 'ssl=no-verify', true],
    ['localhost:PORT', 'sslmode=require&uselibpqcompat=true', true],
    ['localhost:PORT', 'sslmode=require&sslrootcert=FOLDER/server.crt', true],
    ['localhost:PORT', 'sslmode=verify-full&sslrootcert=FOLDER/server.crt', true],
    ['127.0.0.1:PORT', 'sslmode=verify-ca&sslrootcert=FOLDER/server.crt&uselibpqcompat=true', true],
    ['', 'host=FOLDER&port=PORT', false],
    [':PORT', 'host=FOLDER&sslmode=require', false],
  ])('is opened at %s with %s; encrypted: %s', async (place, parameters, encrypted) => {
    const warnings: Error[] = [];
    process.on('warning', (warning) => warnings.push(warning));
    expect(await openAt(place, parameters)).toEqual({ encrypted, tables: 'public' });
    process.removeAllListeners('warning');
    expect(warnings).toEqual([]);
  });

  const SELF_SIGNED = /self-signed certificate.*; set sslrootcert in the URL/;
  const OTHER_HOST = /Hostname\/IP does not match certificate's altnames/;
  it.each([
    ['localhost:PORT', 'sslmode=require', SELF_SIGNED],
    ['localhost:PORT', 'ssl=true', SELF_SIGNED],
    ['localhost:PORT', 'sslmode=verify-full&sslrootcert=FOLDER/other.crt', SELF_SIGNED],
    ['127.0.0.1:PORT', 'sslmode=verify-full&sslrootcert=FOLDER/server.crt', OTHER_HOST],
    ['localhost:PORT', 'sslmode=require&sslrootcert=/none.crt', /ENOENT.*'\/none.crt'/],
    ['localhost:PORT', 'schema=none', /none of the schemas in search_path \("none"\) exists/],
  ])('is not opened at %s with %s', async (place, parameters, message) => {
    const opening = openAt(place, parameters);
    await expect(opening).rejects.toThrow(/^DATABASE_URL: .+\.$/);
    await expect(opening).rejects.toThrow(message);
    await expect(opening).rejects.not.toThrow('store:store');
  });

  it('finds the tables in the schema of the URL, as Prisma does, even if pg_trgm is in another schema', async () => {
    await runSql(server.url, 'create schema "Pet store"');
    expect(await openAt('localhost:PORT', 'schema=Pet%20store')).toMatchObject({
      tables: '"Pet store"',
    });
  });
});
