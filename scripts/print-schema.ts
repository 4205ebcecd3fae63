import { writeFileSync } from 'node:fs';

import { printedSchema } from '../src/graphql/schema.ts';

writeFileSync('schema.graphql', printedSchema());
