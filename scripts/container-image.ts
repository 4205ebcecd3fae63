// Builds the Dockerfile's image without a container engine or an image registry.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { z } from 'zod';

const BASE = 'node:24-bookworm-slim';
const IMAGE = 'pet-store-gateway';
/** The folder that contains the images. removeImages() deletes it. */
export const work = mkdtempSync(join(tmpdir(), 'container-'));

function run(program: string, args: readonly string[]): string {
  const options = { encoding: 'utf8', maxBuffer: 100_000_000 } as const;
  return execFileSync(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] }).trim();
}

const buildah = (command: string, ...args: string[]): string =>
  run('buildah', [`--root=${work}/images`, `--runroot=${work}/run`, command, ...args]);

/** Creates a stand-in for the Dockerfile's base image: Debian, Node.js 24 and npm. */
export function createBase(): void {
  const container = buildah('from', 'scratch');
  const root = buildah('mount', container);
  const local = join(root, 'usr/local');
  run('mmdebstrap', ['--quiet', '--variant=essential', '--include=libstdc++6', 'bookworm', root]);
  const node = `node-linux-${process.arch}`;
  run('npm', ['install', '--silent', `--prefix=${work}`, `${node}@24`]);
  cpSync(join(work, 'node_modules', node, 'bin/node'), join(local, 'bin/node'));
  const modules = join(local, 'lib/node_modules');
  mkdirSync(modules, { recursive: true });
  cpSync(join(run('npm', ['root', '--global']), 'npm'), join(modules, 'npm'), { recursive: true });
  for (const name of ['npm', 'npx']) {
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(local, 'bin', name));
  }
  buildah('config', '--env=PATH=/usr/local/bin:/usr/bin:/bin', container);
  buildah('commit', '--quiet', container, BASE);
  buildah('rm', container);
}

const setting = (name: string): string => run('npm', ['config', 'get', name]);

/** Builds the image. During the build, npm uses this machine's cache and settings. */
export function buildImage(): void {
  const volumes = [
    [setting('cache'), '/root/.npm'],
    [setting('userconfig'), '/root/.npmrc'],
    [setting('globalconfig'), '/usr/local/etc/npmrc'],
    [setting('cafile'), setting('cafile')],
  ].filter(([path = '']) => existsSync(path));
  const flags = volumes.map(([path, target]) => `--volume=${path}:${target}`);
  buildah(
    'build',
    '--isolation=chroot',
    '--pull=never',
    '--format=docker',
    `--tag=${IMAGE}`,
    ...flags,
    '.',
  );
}

/** The parts of the output of `buildah inspect` that are used. */
const Inspected = z.object({
  Docker: z.object({
    config: z.object({
      User: z.string(),
      Env: z.array(z.string()),
      Entrypoint: z.array(z.string()),
      Cmd: z.array(z.string()),
      WorkingDir: z.string(),
      Healthcheck: z.object({ Test: z.array(z.string()) }),
    }),
  }),
});

export interface Image {
  /** The folder with the image's files. */
  readonly root: string;
  readonly config: z.output<typeof Inspected>['Docker']['config'];
}

export function openImage(): Image {
  const { Docker } = Inspected.parse(JSON.parse(buildah('inspect', '--type=image', IMAGE)));
  const root = buildah('mount', buildah('from', '--pull-never', IMAGE));
  return { root, config: Docker.config };
}

export function removeImages(): void {
  buildah('umount', '--all');
  rmSync(work, { recursive: true, force: true });
}
