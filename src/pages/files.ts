import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { Asset } from '../http/static-asset.ts';
import { ROOT } from '../config/root.ts';

const TYPES = { css: 'text/css', js: 'text/javascript' } as const;

const OWN = fileURLToPath(new URL('src/pages/browser', ROOT));
// Found, not imported: the package loads all of Swagger UI to tell where it is.
const SWAGGER_UI = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));

type FileName = `${string}.${keyof typeof TYPES}`;

/** A style sheet or a script. */
export const textAsset = (kind: keyof typeof TYPES, content: string): Asset => ({
  type: `${TYPES[kind]}; charset=utf-8`,
  content,
});

const read = async (folder: string, name: FileName): Promise<Asset> =>
  textAsset(name.endsWith('.css') ? 'css' : 'js', await readFile(join(folder, name), 'utf8'));

/** A file of ours for browsers. */
export const ownFile = (name: FileName): Promise<Asset> => read(OWN, name);

/** A file of Swagger UI. */
export const swaggerFile = (name: FileName): Promise<Asset> => read(SWAGGER_UI, name);
