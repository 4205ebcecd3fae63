import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

// build.js copies both folders next to the bundle.

/** The folder of the pages' scripts and styles. */
export const OWN = fileURLToPath(new URL('browser', import.meta.url));

const BUILT = fileURLToPath(new URL('swagger-ui', import.meta.url));

/** The folder of Swagger UI's files. */
export const SWAGGER_UI = existsSync(BUILT)
  ? BUILT
  : join(dirname(createRequire(import.meta.url).resolve('@fastify/swagger-ui')), 'static');

/** Reads GraphiQL's example operations, in the order of their file names. */
export async function readExamples(folder: URL): Promise<string[]> {
  const names = await readdir(folder);
  return Promise.all(names.toSorted().map((name) => readFile(new URL(name, folder), 'utf8')));
}
