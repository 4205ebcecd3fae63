import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { createDatabaseOn, startPostgres } from '../support/postgres.ts';
import { startReplication } from '../support/replication.ts';
import { Client } from './client.ts';
import type { Cluster } from './failovers.ts';
import type { World } from './fault.ts';
import { GatewayProcess } from './gateway-process.ts';
import { Journal } from './journal.ts';
import { Ledger } from './ledger.ts';
import { CALLERS, Load } from './load.ts';
import { Random } from './random.ts';
import { report } from './report.ts';
import { FAULT_NAMES, runRound } from './schedule.ts';
import { fillStore } from './store.ts';
import { Watch } from './watch.ts';
import { openWorkshop, type Workshop } from './workshop.ts';

const CHECK_EVERY_MS = 60_000;
const STORE_DISK_MB = 1000;
const LOG_DISK_MB = 16;
const ENVIRONMENT = { SAMPLE_STORE: 'false', STOP_TIMEOUT_MS: '5000' };

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '20' },
    database: { type: 'string', default: 'embedded' },
    /** Determines the faults and the actions of callers; random by default. */
    seed: { type: 'string', default: String(randomInt(1_000_000)) },
    /** Names of faults, with commas between; all by default. */
    only: { type: 'string', default: FAULT_NAMES.join() },
    /** Names of faults to leave out, with commas between. */
    without: { type: 'string', default: '' },
  },
});
const minutes = Number(values.minutes);
const seed = Number(values.seed);
const left = values.without.split(',').filter(Boolean);
const chosen = values.only.split(',');
const unknown = [...chosen, ...left].filter((name) => !FAULT_NAMES.includes(name));
if (unknown.length > 0)
  throw new Error(`Unknown faults: ${unknown.join()}. Known: ${FAULT_NAMES.join(', ')}.`);
if (!(minutes > 0) || !Number.isInteger(seed)) throw new Error('--minutes and --seed are numbers.');
if (!['embedded', 'postgres', 'cluster'].includes(values.database)) {
  throw new Error('--database is embedded, postgres or cluster.');
}
type Databases = Pick<World, 'server' | 'cluster'>;

const names = chosen.filter((name) => !left.includes(name));

/** Starts a primary and two replicas; a commit is acknowledged when one of them has it. */
async function startCluster(): Promise<Cluster> {
  const replication = await startReplication({ synchronous: true });
  const [primary] = replication.servers;
  if (!primary) throw new Error('A replication has a primary.');
  return { replication, primary };
}

/** Creates a database and returns the variables for it. */
async function createStore({ server, cluster }: Databases): Promise<Record<string, string>> {
  if (server) return { DATABASE_URL: await createDatabaseOn(server.url), WORKERS: '2' };
  if (!cluster) return {};
  const url = cluster.replication.multiHostUrl(await createDatabaseOn(cluster.primary.url));
  return { DATABASE_URL: url, DATABASE_REPLICA_URLS: url, WORKERS: '2' };
}

/** Starts the gateway on a new database. */
async function prepare(workshop: Workshop, journal: Journal, databases: Databases): Promise<World> {
  const { folder } = workshop;
  const store = await createStore(databases);
  const databaseUrl = store['DATABASE_URL'];
  const storeDisk = databaseUrl ? undefined : await workshop.mountSmall('store', STORE_DISK_MB);
  const logDisk = await workshop.mountSmall('log', LOG_DISK_MB);
  const settings = {
    folder,
    logFile: join(logDisk ?? folder, 'gateway.log'),
    environment: {
      ...ENVIRONMENT,
      ...store,
      DATA_DIR: join(storeDisk ?? folder, 'data'),
    },
  };
  const gateway = new GatewayProcess(settings, journal);
  journal.readTail = () => gateway.readTail();
  while (!(await gateway.isReady())) await sleep(50);
  const random = new Random(seed);
  return { ...databases, folder, gateway, random, databaseUrl, storeDisk, logDisk };
}

/** Soaks the gateway and returns the report. */
async function soak(world: World, journal: Journal): Promise<string> {
  const { gateway } = world;
  const client = new Client(gateway, journal);
  const ledger = new Ledger(journal);
  await fillStore(client, ledger, CALLERS);
  const watch = new Watch(gateway, journal);
  const load = new Load(gateway, ledger, journal, seed);
  const check = async (): Promise<void> => {
    await watch.checkHandles();
    await ledger.check(client);
  };
  const end = performance.now() + minutes * 60_000;
  let nextCheck = performance.now();
  while (performance.now() < end) {
    await runRound(world, journal, names);
    if (performance.now() < nextCheck) continue;
    await load.whilePaused(check);
    nextCheck = performance.now() + CHECK_EVERY_MS;
  }
  await load.close();
  await check();
  watch.close();
  await gateway.close();
  return report({ journal, ledger, watch, seed, database: values.database });
}

const journal = new Journal();
const server = values.database === 'postgres' ? await startPostgres() : undefined;
const cluster = values.database === 'cluster' ? await startCluster() : undefined;
const workshop = await openWorkshop();
try {
  journal.print(`Seed ${seed}, ${values.database}, ${minutes} minutes.`);
  process.stdout.write(await soak(await prepare(workshop, journal, { server, cluster }), journal));
} finally {
  await server?.stop();
  await cluster?.replication.stop();
}
process.exit(journal.violations.length > 0 ? 1 : 0);
