import { existsSync } from 'node:fs';

const findRoot = (folder: URL): URL =>
  existsSync(new URL('package.json', folder)) ? folder : findRoot(new URL('..', folder));

/** The folder of the project, for the modules in `src/` as for the bundle of them in `dist/`. */
export const ROOT = findRoot(new URL('.', import.meta.url));
