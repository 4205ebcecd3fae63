import type { Server } from 'node:http';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';

import { type Config, ConfigError, readConfig } from './config.ts';
import type { Database } from './database/database.ts';
import { toStoreError } from './database/failure.ts';
import { MigrationError } from './database/migrate.ts';
import { openPglite } from './database/pglite.ts';
import { openPostgres } from './database/postgres.ts';
import { fillSampleStore } from './database/sample-store.ts';
import { createLog, type Log } from './log.ts';
import { createGateway } from './server.ts';

async function openDatabase({ databaseUrl, dataDir }: Config, log: Log): Promise<Database> {
  if (databaseUrl) return openPostgres(databaseUrl, log);
  await mkdir(dataDir, { recursive: true }).catch((error: Error) => {
    throw new ConfigError(`DATA_DIR can't be used: ${error.message}.`);
  });
  return openPglite({ dataDir: join(dataDir, 'pglite') }, log);
}

function urlOf(server: Server): string {
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('The server has no port.');
  const { address, family, port } = bound;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

async function start(config: Config, log: Log): Promise<void> {
  const db = await openDatabase(config, log);
  if (config.sampleStore && (await fillSampleStore(db))) log.info('Filled the sample store.');

  const server = createGateway(db, config, log);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(config.port, config.host, resolve);
  });

  const url = urlOf(server);
  log.info(`Database: ${db.description}`);
  log.info(`Listening on ${url}`);
  log.info(`GraphiQL: ${url}/graphql`);

  const stop = (): void => {
    log.info('Stopping.');
    server.close(() => {
      db.close().catch((error: unknown) =>
        log.error({ err: error }, 'The database did not close.'),
      );
    });
  };
  process.once('SIGINT', stop).once('SIGTERM', stop);
}

/** What a person can do something about is one sentence; anything else is shown whole. */
function explain(error: unknown, log: Log): void {
  const plain = error instanceof ConfigError || error instanceof MigrationError;
  const inUse = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
  const unreachable = toStoreError(error).code === 'SERVICE_UNAVAILABLE';
  if (plain && !error.cause) log.error(error.message);
  else if (unreachable) log.error({ err: error }, 'DATABASE_URL: the database can not be reached.');
  else if (inUse) log.error('PORT is in use by another program: choose another.');
  else log.error({ err: error }, 'The gateway could not start.');
}

try {
  const config = readConfig();
  const log = createLog(config.logLevel);
  await start(config, log).catch((error: unknown) => {
    explain(error, log);
    process.exit(1);
  });
} catch (error) {
  explain(error, createLog('error'));
  process.exitCode = 1;
}
