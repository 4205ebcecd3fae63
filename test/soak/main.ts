// Runs the gateway under load while its processes, databases and disks fail at random: `npm run soak`.
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { killPrograms } from '../support/program.ts';
import { startCallers } from './callers.ts';
import { createClient } from './client.ts';
import { type Faults, gatewayFaults } from './faults.ts';
import { startFollowers } from './followers.ts';
import { GatewayProcess } from './gateway-process.ts';
import { Journal } from './journal.ts';
import { Ledger } from './ledger.ts';
import { pick, whole } from './random.ts';
import { STORES } from './stores.ts';

const CHECK_EVERY_MS = 60_000;
const MAX_OFFSET_MS = 3000;
const [MIN_DURATION_MS, MAX_DURATION_MS] = [500, 8000];
const [MIN_REST_MS, MAX_REST_MS] = [3500, 6000];

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '20' },
    database: { type: 'string', default: 'embedded' },
    /** Only faults whose names contain this text are injected; by default, all. */
    only: { type: 'string', default: '' },
  },
});
const minutes = Number(values.minutes);
const openStore = STORES[values.database];
if (!(minutes > 0)) throw new Error('--minutes must be a positive number.');
if (!openStore) throw new Error(`--database must be one of ${Object.keys(STORES).join(', ')}.`);

async function inject(start: Faults[string]): Promise<void> {
  await sleep(whole(0, MAX_OFFSET_MS));
  const stop = await start();
  await sleep(whole(MIN_DURATION_MS, MAX_DURATION_MS));
  await stop();
}

type Fault = readonly [name: string, start: Faults[string]];

const journal = new Journal();
const store = await openStore();
const isOfStore = ([name]: Fault): boolean => name in store.faults;
const environment = { ...store.environment, SAMPLE_STORE: 'false', STOP_TIMEOUT_MS: '5000' };

/** Injects one or two faults, ends them, and leaves the gateway undisturbed for a while. */
async function runRound(gateway: GatewayProcess, faults: readonly Fault[]): Promise<void> {
  const [first, second] = [pick(faults), pick(faults)];
  const chosen = isOfStore(first) === isOfStore(second) ? [first] : [first, second];
  gateway.mayEnd = chosen.some(isOfStore);
  journal.startFaults(chosen.map(([name]) => name));
  await Promise.all(chosen.map(([, start]) => inject(start)));
  await gateway.recover();
  journal.stopFaults();
  await sleep(whole(MIN_REST_MS, MAX_REST_MS));
  gateway.mayEnd = false;
}

async function soak(): Promise<void> {
  const gateway = await GatewayProcess.start(environment, journal);
  const ofGateway = gatewayFaults(gateway);
  const faults = Object.entries({ ...ofGateway, ...store.faults }).filter(([name]) =>
    name.includes(values.only),
  );
  const client = createClient(gateway, journal);
  const ledger = new Ledger(journal);
  await ledger.createPets(client);
  const followers = await startFollowers(gateway, client, journal);
  const end = performance.now() + minutes * 60_000;
  while (performance.now() < end) {
    const stopCallers = startCallers(client, ledger, journal);
    const nextCheck = Math.min(end, performance.now() + CHECK_EVERY_MS);
    while (performance.now() < nextCheck) {
      await runRound(gateway, faults);
    }
    await stopCallers();
    await ledger.check(client);
    await followers.check();
    journal.print(
      `${journal.answered} responses, ${journal.retried} requests without one, ` +
        `${ledger.orders.size} orders, ${followers.received} changes received, ` +
        `${journal.violations} violations`,
    );
  }
  followers.close();
  await gateway.close();
}

try {
  await soak();
} finally {
  await killPrograms();
  await store.close();
}
process.exit(journal.violations > 0 ? 1 : 0);
