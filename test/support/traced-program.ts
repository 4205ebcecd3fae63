import { cp, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';

import { build, transform, type Plugin } from 'esbuild';
import { parseAst } from 'vitest/node';

import { readConfig } from '../../src/gateway/config/config.ts';
import type { openDatabaseOf } from '../../src/gateway/server/serve.ts';
import type { createGateway } from '../../src/gateway/server/server.ts';
import { createLog } from '../../src/gateway/telemetry/log.ts';
import type { petStore } from '../../src/store/index.ts';
import { closeServer, listen } from './listen.ts';

/** A node of a syntax tree (ESTree). */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly body?: unknown;
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value;

/** Returns all functions in a part of a syntax tree. */
function functionsIn(part: unknown): Node[] {
  if (Array.isArray(part)) return part.flatMap(functionsIn);
  if (!isNode(part)) return [];
  const inner = Object.values(part).flatMap(functionsIn);
  return /Function/.test(part.type) ? [part, ...inner] : inner;
}

/** Returns the code with a call inserted at the start of each function. */
function insertCalls(code: string, call: string): string {
  // vitest exports no other parser.
  // oxlint-disable-next-line typescript/no-deprecated
  const insertions = functionsIn(parseAst(code)).flatMap(({ body }): [number, string][] => {
    if (!isNode(body)) return [];
    return body.type === 'BlockStatement'
      ? [[body.start + 1, `${call};`]]
      : [
          [body.start, `(${call},`],
          [body.end, ')'],
        ];
  });
  // From the end, so that the other positions stay the same.
  return insertions
    .map((insertion, index) => ({ at: insertion[0], text: insertion[1], index }))
    .toSorted((a, b) => b.at - a.at || b.index - a.index)
    .reduce((text, one) => text.slice(0, one.at) + one.text + text.slice(one.at), code);
}

const traceSource: Plugin = {
  name: 'trace-source',
  setup: (builder) => {
    builder.onLoad(
      { filter: /\/src\/(gateway|store\/[a-z-]+(\/[a-z-]+)?\.ts)/ },
      async ({ path }) => {
        const { code } = await transform(await readFile(path, 'utf8'), { loader: 'ts' });
        const name = JSON.stringify(relative('src', path));
        return { contents: insertCalls(code, `globalThis.tracedFiles.add(${name})`), loader: 'js' };
      },
    );
  },
};

declare global {
  /** The files whose functions have run, in the order of the first calls. */
  // oxlint-disable-next-line no-var
  var tracedFiles: Set<string>;
}

/** What the program exports. */
interface TracedProgram {
  readonly createGateway: typeof createGateway;
  readonly openDatabaseOf: typeof openDatabaseOf;
  readonly petStore: typeof petStore;
}

/** Bundles the source, with a call in each function that adds its file to `tracedFiles`, and imports it. */
async function importTraced(): Promise<TracedProgram> {
  globalThis.tracedFiles = new Set();
  const folder = join('node_modules', '.cache');
  // As in build.js.
  await cp('src/gateway/site/browser', join(folder, 'browser'), { recursive: true });
  const outfile = join(folder, 'traced.js');
  await build({
    stdin: {
      contents: `
        export { createGateway } from './src/gateway/server/server.ts';
        export { openDatabaseOf } from './src/gateway/server/serve.ts';
        export { petStore } from './src/store/index.ts';`,
      resolveDir: process.cwd(),
    },
    bundle: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    plugins: [traceSource],
    outfile,
  });
  return (await import(pathToFileURL(outfile).href)) as TracedProgram;
}

/** Starts the traced pet store with these variables, in this process. */
export async function startTraced(environment: Readonly<Record<string, string>>) {
  const { createGateway, openDatabaseOf, petStore } = await importTraced();
  const config = readConfig(environment);
  const log = createLog('error');
  const db = await openDatabaseOf(petStore, config, log);
  const { server } = await createGateway(petStore, db, config, log);
  const url = await listen(server);
  const close = async (): Promise<void> => {
    await closeServer(server);
    await db.close();
  };
  return { url, close };
}
