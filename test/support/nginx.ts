import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { vi } from 'vitest';

import { freePort } from './postgres.ts';
import { isReady } from './program.ts';

export const hasNginx = spawnSync('nginx', ['-v']).status === 0;

/** Starts nginx in front of a gateway at a path; `toSettings` returns its configuration for a folder and a port. */
export async function startNginx(
  toSettings: (folder: string, port: number) => string,
  path = '',
): Promise<{ url: string; stop: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'store-nginx-'));
  // Started by root, nginx writes as another user.
  await chmod(folder, 0o755);
  const port = await freePort();
  const file = join(folder, 'nginx.conf');
  await writeFile(file, toSettings(folder, port));
  const nginx = spawn('nginx', ['-c', file, '-g', 'daemon off;'], { stdio: 'inherit' });
  const url = `http://127.0.0.1:${port}${path}`;
  await vi.waitUntil(() => isReady(url), { timeout: 30_000, interval: 50 });
  const stop = async (): Promise<void> => {
    nginx.kill('SIGQUIT');
    await once(nginx, 'exit');
    await rm(folder, { recursive: true, force: true });
  };
  return { url, stop };
}
