import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createDatabaseOn, startPostgres } from '../support/postgres.ts';
import { diskFaults, type Faults, postgresFaults } from './faults.ts';

const DISK_MB = 1000;

interface Store {
  readonly environment: Record<string, string>;
  readonly faults: Faults;
  readonly close: () => Promise<void> | void;
}

export const STORES: Record<string, () => Promise<Store> | Store> = {
  embedded: () => {
    const folder = mkdtempSync(join(tmpdir(), 'soak-'));
    // Only root can mount a disk.
    const isRoot = process.getuid?.() === 0;
    const size = `size=${DISK_MB}m`;
    if (isRoot) execFileSync('mount', ['-t', 'tmpfs', '-o', size, 'tmpfs', folder]);
    return {
      environment: { DATA_DIR: join(folder, 'data') },
      faults: isRoot ? diskFaults(folder) : {},
      close: () => {
        if (isRoot) execFileSync('umount', ['--lazy', folder]);
        rmSync(folder, { recursive: true, force: true });
      },
    };
  },
  postgres: async () => {
    const server = await startPostgres();
    const url = await createDatabaseOn(server.url);
    return {
      environment: { DATABASE_URL: url },
      faults: postgresFaults(server, url),
      close: () => server.remove(),
    };
  },
};
