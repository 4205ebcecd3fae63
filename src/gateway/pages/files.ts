import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { ROOT } from '../config/root.ts';

/** The folder of the pages' scripts and styles. */
export const OWN = fileURLToPath(new URL('src/gateway/pages/browser', ROOT));

/** The folder of Swagger UI's files, as copied by build.js. */
export const SWAGGER_UI = fileURLToPath(new URL('dist/swagger-ui', ROOT));

/** Reads GraphiQL's example operations, in the order of their file names. */
export async function readExamples(folder: URL): Promise<string[]> {
  const names = await readdir(folder);
  return Promise.all(names.toSorted().map((name) => readFile(new URL(name, folder), 'utf8')));
}
