import cluster from 'node:cluster';

import { type Config, ConfigError } from './config.ts';
import { forgetOldKeys } from './database/idempotency.ts';
import { openDatabase } from './database/open.ts';
import type { Log } from './log.ts';

/** Says where the gateway can be reached, with the sentence that others wait for at the end. */
export function announce(address: string, port: number, config: Config, log: Log): void {
  const url = `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
  if (config.graphiql) log.info(`GraphiQL: ${url}/graphql`);
  log.info(`Listening on ${url}`);
}

const FORGET_EVERY_MS = 600_000;

const toConfigError = ({ code, message }: NodeJS.ErrnoException): ConfigError =>
  new ConfigError(
    code === 'EADDRINUSE'
      ? 'PORT is in use by another program: choose another.'
      : `HOST or PORT can't be listened on: ${message}.`,
  );

/** Serves from this process, and gives what stops it. */
export async function serve(config: Config, log: Log): Promise<() => Promise<void>> {
  const [db, { createGateway }] = await Promise.all([
    openDatabase(config, log),
    // The database opens meanwhile.
    import('./server.ts'),
  ]);
  const { server, stop } = createGateway(db, config, log);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(toConfigError(error)));
    server.listen(config.port, config.host, resolve);
  });
  const bound = server.address();
  if (cluster.isPrimary && bound !== null && typeof bound === 'object') {
    log.info(`Database: ${db.description}`);
    announce(bound.address, bound.port, config, log);
  }
  // Prisma's query compiler takes 0.2 s to load: the first caller needn't wait. Opens no connection.
  db.prisma.$connect().catch((error: unknown) => {
    log.warn({ err: error }, 'Prisma could not be made ready.');
  });
  const forgetting = setInterval(() => {
    forgetOldKeys(db, config.idempotencyMs).catch((error: unknown) =>
      log.warn({ err: error }, 'Old idempotency keys could not be removed.'),
    );
  }, FORGET_EVERY_MS);
  return async () => {
    clearInterval(forgetting);
    await stop();
    await db.close();
  };
}
