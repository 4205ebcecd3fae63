import { existsSync } from 'node:fs';

const findRoot = (folder: URL): URL =>
  existsSync(new URL('package.json', folder)) ? folder : findRoot(new URL('..', folder));

/** The project's folder, both for the modules in `src/` and for their bundle in `dist/`. */
export const ROOT = findRoot(new URL('.', import.meta.url));
