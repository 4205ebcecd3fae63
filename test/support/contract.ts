import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';

import { readConfig } from '../../src/config.ts';
import type { Database } from '../../src/database/database.ts';
import { printedSchema } from '../../src/graphql/schema.ts';
import { createLog } from '../../src/log.ts';
import { createGateway } from '../../src/server.ts';

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
  graphql: new URL('schema.graphql', RELEASED),
  openapi: new URL('openapi.json', RELEASED),
};

/** The contract of the last release. */
export async function readReleased(): Promise<Contract> {
  return {
    graphql: await readFile(RELEASED_FILES.graphql, 'utf8'),
    openapi: JSON.parse(await readFile(RELEASED_FILES.openapi, 'utf8')),
  };
}

/** Asks a gateway for its OpenAPI document, which it tells without its database. */
async function fetchOpenApi(): Promise<object> {
  const { server } = createGateway({} as Database, readConfig({}), createLog('silent'));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}/openapi.json`);
  const document = (await response.json()) as object;
  server.closeAllConnections();
  await new Promise((resolve) => void server.close(resolve));
  return document;
}

/** The contract as the code has it now. */
export const readCurrent = async (): Promise<Contract> => ({
  graphql: printedSchema(),
  openapi: await fetchOpenApi(),
});
