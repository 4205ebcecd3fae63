import { writeFileSync } from 'node:fs';

import { printSchema } from 'graphql';

import { schema } from './schema.ts';

writeFileSync('schema.graphql', `${printSchema(schema)}\n`);
