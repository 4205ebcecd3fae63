import { writeFileSync } from 'node:fs';

import { printedSchema } from './schema.ts';

writeFileSync('schema.graphql', printedSchema());
