import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

import { build, type Plugin } from 'esbuild';

import { ROOT } from '../../src/store/root.ts';
// oxlint-disable-next-line import/no-namespace -- a type of all its exports
import type * as RelayDriver from './relay/driver.ts';

const run = promisify(execFile);

const EXAMPLES = fileURLToPath(new URL('docs/examples', ROOT));
const { resolve } = createRequire(join(EXAMPLES, 'package.json'));
const COMPILER = join(dirname(resolve('relay-compiler/package.json')), 'cli.js');

/** What `relay/driver.ts` exports. */
export type RelayProgram = typeof RelayDriver;

const COPIED = [
  'docs/examples/lists.ts',
  'docs/examples/live.ts',
  'docs/examples/relay',
  'docs/examples/retries.ts',
];

async function loadFrom(folder: string, schema: string): Promise<RelayProgram> {
  for (const path of [...COPIED, 'test/clients/relay']) {
    await cp(new URL(path, ROOT), join(folder, path), {
      recursive: true,
      filter: (source) => !source.includes('__generated__') && !source.endsWith('.tsx'),
    });
  }
  const config = JSON.parse(await readFile(join(EXAMPLES, 'relay.config.json'), 'utf8')) as object;
  const changed = { ...config, src: '.', schema: './schema.graphql' };
  await writeFile(join(folder, 'relay.config.json'), JSON.stringify(changed));
  await writeFile(join(folder, 'schema.graphql'), schema);
  await run(process.execPath, [COMPILER], { cwd: folder });
  const outfile = join(folder, 'program.mjs');
  const plugin: string = new URL('docs/examples/relay/esbuild-plugin.js', ROOT).href;
  const { relay } = (await import(plugin)) as { relay: Plugin };
  await build({
    entryPoints: [join(folder, 'test/clients/relay/driver.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    // The packages of Relay are CommonJS modules.
    banner: {
      js: `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);`,
    },
    nodePaths: [join(EXAMPLES, 'node_modules')],
    plugins: [relay],
  });
  return (await import(pathToFileURL(outfile).href)) as RelayProgram;
}

/** The schema as text. */
export const SCHEMA = readFileSync(new URL('schema.graphql', ROOT), 'utf8');

/** Compiles the program in `relay/` for a schema, as an app would, and loads it. */
export async function loadRelayProgram(schema = SCHEMA): Promise<RelayProgram> {
  const folder = await mkdtemp(join(tmpdir(), 'relay-'));
  try {
    return await loadFrom(folder, schema);
  } finally {
    await rm(folder, { recursive: true });
  }
}
