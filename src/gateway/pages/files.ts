import { readdirSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { ROOT } from '../config/root.ts';
import type { Asset } from '../http/static-asset.ts';

const TYPES = { css: 'text/css', js: 'text/javascript' } as const;

const OWN = fileURLToPath(new URL('src/gateway/pages/browser', ROOT));

export const textAsset = (kind: keyof typeof TYPES, content: string): Asset => ({
  type: `${TYPES[kind]}; charset=utf-8`,
  content,
});

/** The names of the files in src/gateway/pages/browser. */
export const OWN_FILES = readdirSync(OWN);

export const ownFile = async (name: string): Promise<Asset> =>
  textAsset(name.endsWith('.css') ? 'css' : 'js', await readFile(join(OWN, name), 'utf8'));

/** Reads GraphiQL's example operations, in the order of their file names. */
export async function readExamples(folder: URL): Promise<string[]> {
  const names = await readdir(folder);
  return Promise.all(names.toSorted().map((name) => readFile(new URL(name, folder), 'utf8')));
}
