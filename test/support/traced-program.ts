import { cp, readFile } from 'node:fs/promises';
import { Session } from 'node:inspector/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { build } from 'esbuild';

import { readConfig } from '../../src/gateway/config/config.ts';
import type { openDatabaseOf } from '../../src/gateway/server/serve.ts';
import type { createGateway } from '../../src/gateway/server/server.ts';
import { createLog } from '../../src/gateway/telemetry/log.ts';
import type { petStore } from '../../src/store/index.ts';
import { closeServer, listen } from './listen.ts';

interface Bundle {
  readonly createGateway: typeof createGateway;
  readonly openDatabaseOf: typeof openDatabaseOf;
  readonly petStore: typeof petStore;
}

/** Bundles the source into one file, in which a comment names each source file, and returns its text. */
async function bundleSource(outfile: string): Promise<string> {
  const contents = `
    export { createGateway } from './src/gateway/server/server.ts';
    export { openDatabaseOf } from './src/gateway/server/serve.ts';
    export { petStore } from './src/store/index.ts';`;
  const stdin = { contents, resolveDir: process.cwd() };
  const asProgram = {
    bundle: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
  } as const;
  await build({ stdin, outfile, ...asProgram });
  return readFile(outfile, 'utf8');
}

/** Returns the source file of a position in the bundle; empty for generated code. */
function fileAt(text: string, offset: number): string {
  const [, file = ''] =
    /^\/\/ src\/(.+)$/m.exec(text.slice(text.lastIndexOf('\n// ', offset))) ?? [];
  return file.includes('generated') ? '' : file;
}

/** Starts a bundle of the pet store with these variables, in this process. */
export async function startTraced(environment: Readonly<Record<string, string>>) {
  const folder = join('node_modules', '.cache');
  // As in build.js.
  await cp('src/gateway/site/browser', join(folder, 'browser'), { recursive: true });
  const { href } = pathToFileURL(join(folder, 'traced.js'));
  const text = await bundleSource(fileURLToPath(href));
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  const { createGateway, openDatabaseOf, petStore } = (await import(href)) as Bundle;
  const config = readConfig(environment);
  const log = createLog('error');
  const db = await openDatabaseOf(petStore, config, log);
  const { server } = await createGateway(petStore, db, config, log);
  const url = await listen(server);
  return {
    url,
    /** Returns the source files of which functions have run since the last call. */
    takeFiles: async (): Promise<string[]> => {
      const { result } = await session.post('Profiler.takePreciseCoverage');
      const ranges = (result.find((script) => script.url === href)?.functions ?? []).flatMap(
        (one) => one.ranges.filter(({ startOffset, count }) => startOffset > 0 && count > 0),
      );
      const files = new Set(ranges.map(({ startOffset }) => fileAt(text, startOffset)));
      return [...files].filter(Boolean).toSorted();
    },
    close: async (): Promise<void> => {
      session.disconnect();
      await closeServer(server);
      await db.close();
    },
  };
}
