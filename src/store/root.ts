import { existsSync } from 'node:fs';

/** Returns the nearest folder, from this one upwards, that contains a package.json. */
function findRoot(folder: URL): URL {
  if (existsSync(new URL('package.json', folder))) return folder;
  const parent = new URL('..', folder);
  if (parent.href === folder.href)
    throw new Error('No folder above the program has a package.json.');
  return findRoot(parent);
}

/** The project's folder, both for the modules in `src/` and for their bundle in `dist/`. */
export const ROOT = findRoot(new URL('.', import.meta.url));
