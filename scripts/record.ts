// Writes this release's contract and SQL statements to test/released/, for comparison with later changes. `npm run
// release` runs this.
import { copyFileSync, writeFileSync } from 'node:fs';

import { Client, type QueryConfig } from 'pg';

import { deleteOldChanges } from '../src/gateway/changes/change-log.ts';
import { openDatabase } from '../src/gateway/database/open-database.ts';
import { deleteOldKeys } from '../src/gateway/model/idempotency.ts';
import { petStore } from '../src/store/index.ts';
import { MIGRATIONS } from '../src/store/migrations.ts';
import { openApiOf } from '../test/support/documented.ts';
import { sendEveryOperation } from '../test/support/every-operation.ts';
import { startGateway } from '../test/support/gateway.ts';
import { openEvents } from '../test/support/live.ts';
import { UNLIMITED } from '../test/support/operations.ts';
import { TIMES_UNTIL_COMPILED } from '../test/support/post.ts';
import { createStoreOn, startPostgres } from '../test/support/postgres.ts';
import { RELEASED, repeatStatements, type Statement } from '../test/support/released.ts';

const { schema } = petStore;

const PATHS = ['/ready?for=writes', '/pets/1', '/store/orders', '/store/orders?limit=2&after=1'];
const DAY_MS = 86_400_000;
const CHANGES = /^\s*(insert|update|delete|with|begin|commit|rollback|set|savepoint|release)\b/i;

/** Returns a list that collects all statements sent from now on. Repeated reads are collected only once. */
function recordStatements(): Statement[] {
  const statements: Statement[] = [];
  const seen = new Set<string>();
  const send = Reflect.get(Client.prototype, 'query') as (...args: unknown[]) => unknown;
  const query = function (this: Client, config: string | QueryConfig, ...args: unknown[]): unknown {
    const { text: sql, values: given = [] } =
      typeof config === 'string' ? { text: config, values: args.find(Array.isArray) } : config;
    const values = given.map((value) => (typeof value === 'bigint' ? String(value) : value));
    const key = JSON.stringify([sql, values]);
    if (!seen.has(key) || CHANGES.test(sql)) statements.push({ sql, values });
    seen.add(key);
    return send.call(this, config, ...args);
  };
  Object.assign(Client.prototype, { query });
  return statements;
}

/** Sends every operation to a gateway on an empty store. */
async function sendAll(databaseUrl: string): Promise<void> {
  const environment = { DATABASE_URL: databaseUrl, MAX_COST: String(UNLIMITED.maxCost) };
  // A single connection keeps the statements in order.
  const gateway = await startGateway({ ...environment, POOL_SIZE: '1' }, (config, log) =>
    openDatabase(MIGRATIONS, config, log),
  );
  await sendEveryOperation(schema, async (query, variables) => {
    if (query.startsWith('subscription')) {
      const stream = await openEvents({ url: gateway.url }, query);
      await stream.data();
      return stream.disconnect();
    }
    if (!query.startsWith('mutation')) {
      for (let time = 0; time < TIMES_UNTIL_COMPILED; time += 1) {
        await gateway.graphql(query, { ...variables });
      }
    }
    return gateway.graphql(query, { ...variables });
  });
  for (const path of PATHS) await gateway.rest(path);
  await deleteOldKeys(gateway.db, DAY_MS);
  await deleteOldChanges(gateway.db, DAY_MS);
  await gateway.close();
}

const write = (file: string, text: string): void => writeFileSync(new URL(file, RELEASED), text);
copyFileSync('schema.graphql', new URL('schema.graphql', RELEASED));
write('openapi.json', `${JSON.stringify(openApiOf(), null, 2)}\n`);
const server = await startPostgres();
try {
  const url = await createStoreOn(server.url);
  const statements = recordStatements();
  await sendAll(url);
  const sent = [...statements];
  const repeated = await repeatStatements(await createStoreOn(server.url), sent);
  const lines = repeated.map((statement) => JSON.stringify(statement));
  write('statements.json', `[\n${lines.join(',\n')}\n]\n`);
} finally {
  await server.remove();
}
