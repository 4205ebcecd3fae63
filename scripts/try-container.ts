// Builds the Dockerfile's image and tries it, without a container engine or an image registry. Requires root and
// Debian's buildah and mmdebstrap packages.
import { deepEqual, equal, notEqual, ok } from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { chownSync, mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { post } from '../test/support/post.ts';
import { freePort, startPostgres } from '../test/support/postgres.ts';
import {
  buildImage,
  createBase,
  type Image,
  openImage,
  removeImages,
  work,
} from './container-image.ts';

const START_MS = 60_000;

/** Prints a line with the seconds since the script started. */
const report = (text: string): void =>
  void process.stdout.write(`${(performance.now() / 1000).toFixed(0).padStart(4)} s  ${text}\n`);

// An absolute path, because PATH is set for the image.
const UNSHARE = '/usr/bin/unshare';
// Like `docker run --read-only`. The first arguments are the root folder, the folder to mount at /data, and the PATH of
// the command that follows.
const MOUNT = `set -e
PATH=/usr/bin:/bin
mkdir -p "$1/proc" "$1/dev"
mount --make-rprivate / && mount --bind "$1" "$1" && mount --bind "$2" "$1/data"
mount -t proc proc "$1/proc" && mount --bind /dev "$1/dev"
mount -o remount,bind,ro "$1" && PATH=$3 && shift 3 && exec "$@"`;

/** Returns the command that runs a program with the image's user and working directory. */
function inImage({ root, config }: Image, program: readonly string[]): string[] {
  const [user, group] = config.User.split(':');
  const flags = [`--root=${root}`, `--wd=${config.WorkingDir}`];
  return [UNSHARE, ...flags, `--setgid=${group}`, `--setuid=${user}`, ...program];
}

type Environment = Readonly<Record<string, string>>;

const toVariables = ({ config }: Image, environment: Environment): Environment => ({
  ...Object.fromEntries(config.Env.map((pair) => pair.split(/=(.*)/))),
  ...environment,
});

interface Container {
  readonly image: Image;
  readonly environment: Environment;
  readonly process: ChildProcess;
  readonly end: Promise<number | null>;
}

const running = new Set<Container>();

const endOf = (child: ChildProcess): Promise<number | null> =>
  new Promise((resolve, reject) => void child.once('exit', resolve).once('error', reject));

/** Starts a container on this machine's network, with the program as process 1. */
function start(
  image: Image,
  data: string,
  environment: Environment,
  command?: string[],
): Container {
  const { Entrypoint, Cmd } = image.config;
  const program = inImage(image, [...Entrypoint, ...(command ?? Cmd)]);
  const env = toVariables(image, environment);
  const shell = ['/bin/sh', '-c', MOUNT, 'sh', image.root, data, env['PATH'] ?? '', ...program];
  const child = spawn(UNSHARE, ['--mount', '--pid', '--fork', '--kill-child', ...shell], {
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const container = { image, environment, process: child, end: endOf(child) };
  running.add(container);
  return container;
}

/** Sends a signal to the program, the child of `unshare`, and returns its exit code. */
async function stop(container: Container, signal: NodeJS.Signals): Promise<number | null> {
  const { pid, exitCode } = container.process;
  running.delete(container);
  if (exitCode === null) {
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
    process.kill(Number(children), signal);
  }
  return container.end;
}

/** Returns the exit code of the image's health check. */
function checkHealth({ image, environment }: Container): Promise<number | null> {
  const [program = '', ...args] = inImage(image, image.config.Healthcheck.Test.slice(1));
  const child = spawn(program, args, { env: toVariables(image, environment), stdio: 'ignore' });
  return endOf(child);
}

async function waitUntilHealthy(container: Container): Promise<void> {
  const last = performance.now() + START_MS;
  while ((await checkHealth(container)) !== 0) {
    ok(performance.now() < last, 'The container did not become healthy.');
    await sleep(200);
  }
}

/** Sends the requests in README.md and compares the responses with the responses shown there. */
async function sendSamples(url: string): Promise<void> {
  const readme = await readFile('README.md', 'utf8');
  const samples = [...readme.matchAll(/```(sh|graphql)\n([^`]*)```\s+```json\n([^`]*)```/g)];
  ok(samples.length > 0);
  for (const [, language, request = '', response = ''] of samples) {
    const body = language === 'sh' ? (/-d '(.*)'/.exec(request)?.[1] ?? '') : { query: request };
    deepEqual(await (await post({ url }, body)).json(), JSON.parse(response));
  }
}

/** Requests everything that is loaded lazily, and runs a mutation. */
async function requestRest(url: string): Promise<void> {
  const paths = ['/', '/guide/api', '/docs', '/openapi.json', '/schema.graphql', '/metrics'];
  const assets = ['page.css', 'graphiql/graphiql.js'];
  for (const path of [...paths, ...assets.map((name) => `/assets/${name}`)]) {
    equal((await fetch(url + path)).status, 200, path);
  }
  const query = `mutation { createCategory(input: { name: "Rats" }) { ... on Category { name } } }`;
  const response = await post({ url }, { query });
  deepEqual(await response.json(), { data: { createCategory: { name: 'Rats' } } });
}

async function tryEmbedded(image: Image, data: string): Promise<void> {
  const port = await freePort();
  const container = start(image, data, { PORT: String(port), HOST: '127.0.0.1' });
  await waitUntilHealthy(container);
  const url = `http://127.0.0.1:${port}`;
  await sendSamples(url);
  await requestRest(url);
  equal(await stop(container, 'SIGTERM'), 0);
  notEqual(await checkHealth(container), 0);
}

async function tryPostgres(image: Image, data: string): Promise<void> {
  const server = await startPostgres();
  try {
    const environment = { DATABASE_URL: server.url, HOST: '127.0.0.1', MIGRATE: 'false' };
    equal(await start(image, data, environment).end, 1);
    equal(await start(image, data, environment, ['dist/migrate.js']).end, 0);
    const port = await freePort();
    const container = start(image, data, { ...environment, PORT: String(port) });
    await waitUntilHealthy(container);
    await requestRest(`http://127.0.0.1:${port}`);
    equal(await stop(container, 'SIGTERM'), 0);
  } finally {
    await server.remove();
  }
}

try {
  createBase();
  report('Created the base of the image.');
  buildImage();
  report('Built the image.');
  const image = openImage();
  const data = join(work, 'data');
  mkdirSync(data);
  const [user, group] = image.config.User.split(':');
  chownSync(data, Number(user), Number(group));
  await tryEmbedded(image, data);
  report('The embedded database works.');
  await tryPostgres(image, data);
  report('PostgreSQL works.');
} finally {
  await Promise.all([...running].map((container) => stop(container, 'SIGKILL')));
  removeImages();
}
