// Writes the contract and the SQL statements of this release to test/released/, with which later changes
// are compared. `npm run release` runs this; dist/ must be built.
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { ROOT } from '../src/config/root.ts';
import { VERSION } from '../src/config/version.ts';
import { readCurrent, RELEASED_FILES } from '../test/support/contract.ts';
import { recordStatements } from '../test/support/record-statements.ts';

const { graphql, openapi } = readCurrent();
await writeFile(RELEASED_FILES.version, `${VERSION}\n`);
await writeFile(RELEASED_FILES.graphql, graphql);
await writeFile(RELEASED_FILES.openapi, `${JSON.stringify(openapi, null, 2)}\n`);
const statements = await recordStatements(fileURLToPath(ROOT));
const lines = statements.map((statement) => JSON.stringify(statement));
await writeFile(RELEASED_FILES.statements, `[\n${lines.join(',\n')}\n]\n`);
