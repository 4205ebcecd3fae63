import { readFile } from 'node:fs/promises';

import { readConfig } from '../../src/config/config.ts';
import { printedSchema } from '../../src/graphql/schema.ts';
import { createOpenApi } from '../../src/rest/openapi.ts';
import type { ReleasedStatement } from './record-statements.ts';

/** What callers rely on. */
export interface Contract {
  /** The GraphQL schema, printed. */
  readonly graphql: string;
  /** The OpenAPI document. */
  readonly openapi: object;
}

const RELEASED = new URL('../released/', import.meta.url);

/** Where the contract of the last release is kept. */
export const RELEASED_FILES = {
  version: new URL('version.txt', RELEASED),
  graphql: new URL('schema.graphql', RELEASED),
  openapi: new URL('openapi.json', RELEASED),
  statements: new URL('statements.json', RELEASED),
};

/** The contract of the last release, and its version. */
export async function readReleased(): Promise<Contract & { readonly version: string }> {
  return {
    version: (await readFile(RELEASED_FILES.version, 'utf8')).trim(),
    graphql: await readFile(RELEASED_FILES.graphql, 'utf8'),
    openapi: JSON.parse(await readFile(RELEASED_FILES.openapi, 'utf8')),
  };
}

/** The SQL statements of the last release, which its gateways send beside those of the next one. */
export const readReleasedStatements = async (): Promise<ReleasedStatement[]> =>
  JSON.parse(await readFile(RELEASED_FILES.statements, 'utf8')) as ReleasedStatement[];

/** The contract as the code has it now; the document is the one that a gateway serves. */
export const readCurrent = (): Contract => ({
  graphql: printedSchema(),
  openapi: JSON.parse(JSON.stringify(createOpenApi(readConfig({})))),
});
