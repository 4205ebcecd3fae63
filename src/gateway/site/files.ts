import { existsSync, readdirSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { Asset } from './assets.ts';

// build.js copies both folders next to the bundle.

const OWN = fileURLToPath(new URL('browser', import.meta.url));

const BUILT = fileURLToPath(new URL('swagger-ui', import.meta.url));

const SWAGGER_UI = existsSync(BUILT)
  ? BUILT
  : join(dirname(createRequire(import.meta.url).resolve('@fastify/swagger-ui')), 'static');

/** Returns the media type of a script or style by its file name. */
export const mediaTypeOf = (name: string): string =>
  name.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8';

/** Returns the scripts and styles of the pages and of Swagger UI: the path of each, and the function that reads it. */
export const listFiles = () =>
  Object.entries({ '/assets/': OWN, '/assets/swagger-ui/': SWAGGER_UI }).flatMap(([path, folder]) =>
    readdirSync(folder)
      .filter((name) => /\.(?:css|js)$/.test(name))
      .map((name) => {
        const read = async (): Promise<Asset> => ({
          type: mediaTypeOf(name),
          content: await readFile(join(folder, name)),
        });
        return [path + name, read] as const;
      }),
  );

interface MenuItem {
  readonly group: string;
  readonly title: string;
  readonly query: string;
}

/** Reads GraphiQL's example operations, in the order of their file names. The first line is `# group: title`. */
export async function readExamples(folder: URL): Promise<MenuItem[]> {
  const names = await readdir(folder);
  return Promise.all(
    names.toSorted().map(async (name) => {
      const text = await readFile(new URL(name, folder), 'utf8');
      const { group = '', title = '' } =
        /^# (?<group>[^:]+): (?<title>.+)\n/.exec(text)?.groups ?? {};
      return { group, title, query: text.replace(`# ${group}: ${title}\n`, '').trimStart() };
    }),
  );
}
