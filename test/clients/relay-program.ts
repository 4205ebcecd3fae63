import { execFile } from 'node:child_process';
import { copyFile, cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

import { build, type Plugin } from 'esbuild';

import { ROOT } from '../../src/gateway/config/root.ts';
// oxlint-disable-next-line import/no-namespace -- a type of all its exports
import type * as RelayDriver from './relay/driver.ts';

const require = createRequire(import.meta.url);
const run = promisify(execFile);

const COMPILER = join(dirname(require.resolve('relay-compiler/package.json')), 'cli.js');
const SOURCE = fileURLToPath(new URL('test/clients/relay', ROOT));
const MODULES = fileURLToPath(new URL('test/clients/node_modules', ROOT));

const TAG = /graphql`\s*(?:query|mutation|subscription|fragment) (\w+)[^`]*`/g;

/** Replaces each document by the file that the compiler generated for it, as Relay's Babel plugin does. */
const useArtifacts: Plugin = {
  name: 'relay',
  setup: (compilation) => {
    compilation.onLoad({ filter: /pets\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8');
      const contents = source.replaceAll(
        TAG,
        (_tag, name: string) => `require('./__generated__/${name}.graphql.ts').default`,
      );
      return { contents, loader: 'ts' };
    });
  },
};

/** What `relay/driver.ts` exports. */
export type RelayProgram = typeof RelayDriver;

async function loadFrom(folder: string, schema: string): Promise<RelayProgram> {
  const src = join(folder, 'src');
  await cp(SOURCE, src, { recursive: true });
  // What it shares with the other clients.
  await copyFile(join(SOURCE, '../live.ts'), join(folder, 'live.ts'));
  await copyFile(join(src, 'relay.config.json'), join(folder, 'relay.config.json'));
  await writeFile(join(folder, 'schema.graphql'), schema);
  await run(process.execPath, [COMPILER], { cwd: folder });
  const outfile = join(folder, 'program.mjs');
  await build({
    entryPoints: [join(src, 'driver.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    // The packages of Relay are CommonJS modules.
    banner: {
      js: `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);`,
    },
    nodePaths: [MODULES],
    plugins: [useArtifacts],
  });
  return (await import(pathToFileURL(outfile).href)) as RelayProgram;
}

/** Compiles the program in `relay/` for a schema as an app would, and loads it. */
export async function loadRelayProgram(schema: string): Promise<RelayProgram> {
  const folder = await mkdtemp(join(tmpdir(), 'relay-'));
  try {
    return await loadFrom(folder, schema);
  } finally {
    await rm(folder, { recursive: true });
  }
}
