import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { cp, mkdtemp, readdir, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));

/** A folder with a copy of the built program, which no later build changes. */
export interface Workshop {
  readonly folder: string;
  /** Mounts a small file system; returns undefined unless the soak runs as root. */
  mountSmall(name: string, megabytes: number): Promise<string | undefined>;
}

/**
 * Builds the program and copies it, with links to the other files of the project. The folder is removed
 * when the soak ends.
 */
export async function openWorkshop(): Promise<Workshop> {
  execFileSync('node', ['build.js'], { cwd: PROJECT, stdio: 'inherit' });
  const folder = await mkdtemp(join(tmpdir(), 'soak-'));
  await cp(join(PROJECT, 'dist'), join(folder, 'dist'), { recursive: true });
  for (const name of await readdir(PROJECT)) {
    if (name !== 'dist') await symlink(join(PROJECT, name), join(folder, name));
  }
  await writeFile(join(folder, 'clock'), '0');
  const mounts: string[] = [];
  process.once('exit', () => {
    for (const path of mounts) execFileSync('umount', ['--lazy', path]);
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    folder,
    mountSmall: async (name, megabytes) => {
      if (process.getuid?.() !== 0) return undefined;
      const path = await mkdtemp(join(folder, `${name}-`));
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', path]);
      mounts.push(path);
      return path;
    },
  };
}
