import { writeFile } from 'node:fs/promises';

import { readCurrent, RELEASED_FILES } from './contract.ts';

const { graphql, openapi } = readCurrent();
await writeFile(RELEASED_FILES.graphql, graphql);
await writeFile(RELEASED_FILES.openapi, `${JSON.stringify(openapi, null, 2)}\n`);
