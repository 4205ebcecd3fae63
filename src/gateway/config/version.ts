import { readFileSync } from 'node:fs';

import { z } from 'zod';

import { ROOT } from './root.ts';

const Package = z.object({ version: z.string() });

/** The version of the gateway, which is in package.json. */
export const { version: VERSION } = Package.parse(
  JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8')),
);
