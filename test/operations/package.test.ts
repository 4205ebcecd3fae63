import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { beforeAll, describe, expect, it } from 'vitest';

import { useFolder } from '../support/folders.ts';
import { post } from '../support/post.ts';
import { V8_FLAGS } from '../support/program.ts';

const folder = useFolder();
let installed: string;
let files: string[];
/** The programs that its package.json names. */
let bin: Readonly<Record<string, string>>;

// NODE_OPTIONS does not accept V8_FLAGS, which other tests pass to their programs as arguments.
const SET_FLAGS = `import { setFlagsFromString } from 'node:v8'; setFlagsFromString('${V8_FLAGS.join(' ')}')`;
const NODE_OPTIONS = `--import "data:text/javascript,${encodeURIComponent(SET_FLAGS)}"`;

const isNoTemplate = (path: string): boolean => !path.endsWith('template-store');

/** Copies the packages that the image contains besides the bundle, but not the template that `npm ci` creates. */
async function copyPackages(target: string): Promise<void> {
  const [, selector = ''] = /npm query '([^']+)'/.exec(await readFile('Dockerfile', 'utf8')) ?? [];
  const found = execFileSync('npm', ['query', selector], { encoding: 'utf8', stdio: 'pipe' });
  const paths = (JSON.parse(found) as { location: string }[]).map(({ location }) => location);
  const options = { recursive: true, filter: isNoTemplate };
  // One at a time, because some packages contain others.
  for (const path of paths) await cp(path, join(target, path), options);
}

beforeAll(async () => {
  const flags = ['--ignore-scripts', '--json', `--pack-destination=${folder}`];
  const packed = execFileSync('npm', ['pack', ...flags], { encoding: 'utf8', stdio: 'pipe' });
  const [pack] = JSON.parse(packed) as [{ filename: string; files: { path: string }[] }];
  files = pack.files.map(({ path }) => path);
  installed = join(folder, 'node_modules/pet-store-gateway');
  await mkdir(installed, { recursive: true });
  execFileSync('tar', [
    '-xzf',
    join(folder, pack.filename),
    '--strip-components=1',
    '-C',
    installed,
  ]);
  await copyPackages(folder);
  ({ bin } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8')));
});

describe('the package of `npm pack`', () => {
  it('contains only the files that the programs read, LICENSE, README.md and package.json', () => {
    const read = /^(?:dist|prisma\/migrations|src\/store\/(?:pages|tools))\//;
    expect(files.filter((path) => !read.test(path)).toSorted()).toEqual([
      'LICENSE',
      'README.md',
      'package.json',
    ]);
    expect(files).toEqual(expect.arrayContaining(Object.values(bin)));
  });

  it('contains the licenses of the bundled packages', async () => {
    const licenses = await readFile(join(installed, 'dist/THIRD-PARTY-LICENSES.txt'), 'utf8');
    for (const name of ['graphql', 'graphql-yoga', 'pg', 'swagger-ui']) {
      expect(licenses).toMatch(new RegExp(`^${name} \\d\\S+\n\nLicense: \\S`, 'm'));
    }
    expect(licenses).not.toMatch(/^(?:vitest|esbuild|prisma) \d/m);
  });

  it('starts from its bin file with only the packages of the image, and serves lazily loaded files', async () => {
    const program = join(installed, bin['pet-store-gateway'] ?? '');
    await chmod(program, 0o755);
    const child = spawn(program, {
      cwd: folder,
      env: {
        // oxlint-disable-next-line node/no-process-env -- the shebang finds Node.js
        PATH: process.env['PATH'],
        PORT: '0',
        STOP_DELAY_MS: '0',
        // There is no template, so the store is created without one.
        DATA_DIR: join(folder, 'store'),
        NODE_ENV: 'production',
        NODE_OPTIONS,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let url = '';
    for await (const line of createInterface(child.stdout)) {
      [, url = ''] = /"Listening on (http:\S+)"/.exec(line) ?? [];
      if (url !== '') break;
    }
    const paths = ['/docs', '/guide/api', '/openapi.json', '/schema.graphql', '/graphql'];
    const assets = ['page.css', 'graphiql/graphiql.js', 'swagger-ui/swagger-ui-bundle.js'];
    for (const path of [...paths, ...assets.map((name) => `/assets/${name}`)]) {
      const response = await fetch(url + path, { headers: { accept: 'text/html, */*' } });
      expect({ path, status: response.status }).toEqual({ path, status: 200 });
    }
    const query =
      'mutation { createCategory(input: { name: "Rats" }) { ... on Category { name } } }';
    expect(await (await post({ url }, { query })).json()).toEqual({
      data: { createCategory: { name: 'Rats' } },
    });
    child.stdout.resume();
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });
});

it('a checkout without development dependencies runs its scripts prepare and prestart without building the programs again', async () => {
  for (const name of ['build.js', 'tsconfig.json', 'docs', 'scripts', 'src']) {
    await cp(name, join(folder, name), { recursive: true });
  }
  for (const name of ['package.json', 'dist']) {
    await cp(join(installed, name), join(folder, name), { recursive: true });
  }
  await cp('dist/made-of', join(folder, 'dist/made-of'));
  await rm(join(folder, 'src/gateway/context.ts'));
  const before = await readFile(join(folder, 'dist/main.js'), 'utf8');
  for (const script of ['prepare', 'prestart']) {
    execFileSync('npm', ['run', script], { cwd: folder, stdio: 'pipe' });
  }
  expect(await readFile(join(folder, 'dist/main.js'), 'utf8')).toBe(before);
});
