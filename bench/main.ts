import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';

import { petStore } from '../src/store/index.ts';
import {
  createDatabaseOn,
  runSql,
  startPostgres,
  type PostgresServer,
} from '../test/support/postgres.ts';
import { drawChart } from './chart.ts';
import { CONTENDERS, GATEWAY, obstacleTo, start, versionIn } from './contenders.ts';
import { searchCosts } from './cost-search.ts';
import { type Entry, type Plan, runRounds } from './rounds.ts';
import { Store } from './store.ts';
import { besideTable, compareTables, costSearchList, growthTables, memoryTable } from './tables.ts';
import { WORKLOADS } from './workloads.ts';

const { schema } = petStore;

const SETTINGS = [
  // The disk is not part of the comparison.
  'fsync=off',
  'synchronous_commit=off',
  'full_page_writes=off',
  // Autovacuum and parallel queries would use processes that end before their CPU time is read.
  'autovacuum=off',
  'max_parallel_workers_per_gather=0',
  'jit=off',
  'shared_buffers=512MB',
  'max_wal_size=4GB',
];
const PETS = 10_000;
const GROWTH = [10_000, 100_000, 1_000_000];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '3' },
    /** How long, approximately, each contender is measured with each workload in a round. */
    seconds: { type: 'string', default: '3' },
    /** Names of contenders or workloads, separated by commas; all by default. */
    only: { type: 'string', default: '' },
    /** The Node.js program that runs the contenders. */
    node: { type: 'string', default: process.execPath },
    /** The folders of earlier versions to measure as well: clones that have been built. */
    beside: { type: 'string', multiple: true, default: [] },
    /** The file for a chart (SVG) of the results; none by default. */
    chart: { type: 'string', default: '' },
    /** How long to search for queries that take much CPU time for the cost that they declare. */
    minutes: { type: 'string', default: '5' },
  },
});
const print = (text: string): void => void process.stdout.write(text);

const earlier = values.beside.map(versionIn);
const only = values.only.split(',').filter(Boolean);
const known = new Set([...CONTENDERS, ...WORKLOADS].map(({ name }) => name));
const unknown = only.filter((name) => !known.has(name));
if (unknown.length > 0) throw new Error(`Not one of ${[...known].join(', ')}: ${unknown.join()}`);

/** Returns the things that `only` names, or all things if it names none of them. */
function choose<Thing extends { readonly name: string }>(
  things: readonly Thing[],
): readonly Thing[] {
  const chosen = things.filter(({ name }) => only.includes(name));
  return chosen.length > 0 ? chosen : things;
}

const [mode = 'compare'] = positionals;
if (!['compare', 'growth', 'cost'].includes(mode)) throw new Error(`Not a benchmark: ${mode}`);
const grows = mode === 'growth';
const { node } = values;
const plan: Plan = {
  rounds: Number(values.rounds),
  seconds: Number(values.seconds),
  node,
  workloads: choose(WORKLOADS),
};
if (!(plan.rounds >= 1 && plan.seconds > 0)) {
  throw new Error('--rounds and --seconds must be numbers above 0.');
}
const chosen = mode === 'compare' ? [...choose(CONTENDERS), ...earlier] : [GATEWAY];
const contenders = chosen.filter((contender) => {
  const obstacle = obstacleTo(contender, node);
  if (obstacle) print(`${obstacle}\n`);
  return !obstacle;
});

/** Creates a database with the gateway's tables, fills it, and returns an entry for each contender. */
async function prepare(server: PostgresServer, pets: number): Promise<Entry[]> {
  const databaseUrl = await createDatabaseOn(server.url);
  const env = { DATABASE_URL: databaseUrl, LOG_LEVEL: 'warn' };
  execFileSync(process.execPath, ['dist/migrate.js'], { env, stdio: 'inherit' });
  const store = new Store(pets);
  for (const statement of store.fillStatements) await runSql(databaseUrl, statement);
  const size = `${pets.toLocaleString('en')} pets`;
  return contenders.map((contender) => {
    return { contender, store, databaseUrl, name: grows ? size : contender.name };
  });
}

/** Measures the contenders side by side, or the gateway with stores of several sizes. */
async function measureRounds(server: PostgresServer, where: string): Promise<string> {
  const entries: Entry[] = [];
  for (const pets of grows ? GROWTH : [PETS]) entries.push(...(await prepare(server, pets)));
  const results = await runRounds(entries, plan);
  const head = `\n${where}; medians of ${plan.rounds} × ${plan.seconds} s\n`;
  if (grows) return head + growthTables(results, plan.workloads);
  if (values.chart) writeFileSync(values.chart, drawChart(results, plan.workloads, where));
  const beside = earlier.map((version) => besideTable(results, plan.workloads, version));
  const tables = [compareTables(results, plan.workloads), ...beside];
  return head + tables.join('') + memoryTable(results);
}

/** Searches for queries that take much CPU time for the cost that they declare. */
async function searchQueries(server: PostgresServer): Promise<string> {
  const [entry] = await prepare(server, PETS);
  if (!entry) throw new Error('No gateway.');
  const running = await start(entry.contender, node, entry.databaseUrl);
  try {
    const minutes = Number(values.minutes);
    return costSearchList(await searchCosts(schema, running, entry.databaseUrl, minutes));
  } finally {
    await running.stop();
  }
}

async function run(server: PostgresServer): Promise<string> {
  if (mode === 'cost') return searchQueries(server);
  const [database] = await runSql(server.url, 'show server_version');
  const version = execFileSync(node, ['--version']).toString().trim();
  return measureRounds(
    server,
    `Node.js ${version}, PostgreSQL ${String(database?.['server_version'])}, ${availableParallelism()} cores`,
  );
}

const server = await startPostgres(SETTINGS);
try {
  print(await run(server));
} catch (error) {
  process.stderr.write(`${String(error)}\n`);
  process.exitCode = 1;
} finally {
  await server.remove();
}
// A timer of pidusage would keep the process alive.
process.exit();
