import { readFileSync } from 'node:fs';

import { z } from 'zod';

import { ROOT } from './root.ts';

const Package = z.object({ name: z.string(), version: z.string() });

/** The program's name and version, from package.json. */
export const { name: NAME, version: VERSION } = Package.parse(
  JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8')),
);
