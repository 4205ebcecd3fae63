import { once } from 'node:events';
import { type AddressInfo, isIPv6, type Server } from 'node:net';
import { setFlagsFromString } from 'node:v8';

import { type DocumentNode, type GraphQLSchema, NoDeprecatedCustomRule, validate } from 'graphql';
import sql, { join, raw } from 'sql-template-tag';

import { deleteOldChanges, readLogSize } from '../changes/change-log.ts';
import { type Config, ConfigError } from '../config/config.ts';
import { toError } from '../contract/gateway-error.ts';
import type { Database } from '../database/database.ts';
import { openDatabase } from '../database/open-database.ts';
import type { Session } from '../database/session.ts';
import { deleteOldKeys } from '../model/idempotency.ts';
import { readManifest } from '../operation/manifest.ts';
import { checkDatabase } from '../schema/check-database.ts';
import type { Store } from '../store.ts';
import type { Log } from '../telemetry/log.ts';
import { run } from './run.ts';

const MAINTAIN_EVERY_MS = 600_000;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Starts listening on the configured HOST and PORT, and returns the URL. @throws ConfigError */
async function listen(server: Server, { host, port }: Config): Promise<string> {
  server.listen(port, host);
  await once(server, 'listening').catch((error: unknown) => {
    throw new ConfigError(`Cannot listen on HOST and PORT: ${toError(error).message}.`);
  });
  const { address, port: bound }: Partial<AddressInfo> = Object(server.address());
  return `http://${isIPv6(address ?? '') ? `[${address}]` : address}:${bound}`;
}

/** Warns about each document of the operator that uses deprecated parts of the schema. `noun` says what it is. */
function announceDeprecated(
  noun: string,
  documents: ReadonlyMap<string, { readonly parsed: DocumentNode }>,
  schema: GraphQLSchema,
  log: Log,
): void {
  for (const [name, { parsed }] of documents) {
    const found = validate(schema, parsed, [NoDeprecatedCustomRule]).map(({ message }) => message);
    if (found.length > 0) log.warn(`The ${noun} ${name}: ${[...new Set(found)].join(' ')}`);
  }
}

/** Whether any table of the store has a row, or ever had a row whose change was recorded. */
async function isUsed(session: Session, { repositories }: Store): Promise<boolean> {
  const hasRows = [...repositories.values()].map(
    ({ name }) => sql`exists (select from ${raw(name)})`,
  );
  const [row] = await session.query<{ used: boolean }>(
    sql`select is_called or ${join(hasRows, ' or ')} as used from changes_id_seq`,
  );
  return row?.used === true;
}

/** Fills a new database with the store's samples. Returns false if the database was ever used. */
export async function fillSample(db: Database, store: Store): Promise<boolean> {
  // Checked without a lock, so that startup never waits for a store in use.
  if (await isUsed(db, store)) return false;
  return db.transaction(async (session) => {
    // Gateways that start at the same time wait for each other here.
    await session.write(sql`lock table changes in exclusive mode`);
    if (await isUsed(session, store)) return false;
    await store.fillSample(session);
    return true;
  });
}

/**
 * Opens the configured database, and fills a new one with samples if configured. Checks the trusted documents and the
 * tools first, so that an invalid one prevents startup before anything changes.
 * @throws ConfigError, MigrationError
 */
export async function openDatabaseOf(store: Store, config: Config, log: Log): Promise<Database> {
  if (config.manifest) {
    const manifest = readManifest(config.manifest, store.schema, config);
    announceDeprecated('document', manifest, store.schema, log);
  }
  if (config.mcpOperations) {
    const { readTools } = await import('../transport/mcp/tools.ts');
    const tools = readTools(config.mcpOperations, store.schema, config);
    announceDeprecated('tool', tools, store.schema, log);
  }
  const db = await openDatabase(store.migrations, config, log);
  await checkDatabase(db, store, log);
  if (config.sampleStore && (await fillSample(db, store))) log.info('Filled the sample store.');
  return db;
}

/** Exits after `close` when a signal stops the program. A second signal exits immediately. */
function stopBySignal(close: () => Promise<void>, log: Log): void {
  let isStopping = false;
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    // A closing terminal may send SIGHUP twice.
    if (isStopping) return signal === 'SIGHUP' ? undefined : process.exit(1);
    isStopping = true;
    log.info('Stopping.');
    await close().catch((error: unknown) => log.error({ err: error }, 'Shutdown failed.'));
    return process.exit(0);
  };
  for (const signal of SIGNALS) process.on(signal, () => void stop(signal));
}

/** @throws ConfigError, MigrationError */
async function serve(store: Store, config: Config, log: Log): Promise<void> {
  const [db, { createGateway }] = await Promise.all([
    openDatabaseOf(store, config, log),
    // Loaded while the database opens.
    import('./server.ts'),
  ]);
  const { server, metrics, stop } = await createGateway(store, db, config, log);
  const orWarn = (work: Promise<unknown>, message: string): Promise<unknown> =>
    work.catch((error: unknown) => log.warn({ err: error }, message));
  const maintain = async (): Promise<void> => {
    await orWarn(db.samples.read(), 'The samples of texts could not be read.');
    await orWarn(deleteOldChanges(db, config.changesMs), 'Old changes could not be deleted.');
    const size = readLogSize(db).then(metrics.changes.setLogSize);
    await orWarn(size, 'The size of the change log could not be read.');
    await orWarn(
      deleteOldKeys(db, config.idempotencyMs),
      'Old idempotency keys could not be deleted.',
    );
  };
  // An operator may have changed the tables since the start.
  const checkAgain = (): Promise<unknown> =>
    orWarn(checkDatabase(db, store, log), 'The database no longer has what this release needs.');
  // At once, because the change log may be that of another database, restored from a dump.
  void maintain();
  const maintenance = setInterval(() => void maintain().then(checkAgain), MAINTAIN_EVERY_MS);
  const close = async (): Promise<void> => {
    await listening;
    clearInterval(maintenance);
    await stop();
    await db.close();
  };
  stopBySignal(close, log);
  const listening = listen(server, config);
  const url = await listening;
  log.info(`Database: ${db.description}`);
  if (config.graphiql) log.info(`GraphiQL: ${url}/graphql`);
  // Supervisors may wait for this line.
  log.info(`Listening on ${url}`);
}

/** Runs a store's gateway as this process's program, until SIGINT, SIGTERM or SIGHUP stops it. */
export function runGateway(store: Store): Promise<void> {
  // Lets the heap grow to twice its live objects before V8 collects garbage: saves some 50 MB, at no measurable cost.
  setFlagsFromString('--heap-growing-percent=100');
  return run((config, log) => serve(store, config, log));
}
