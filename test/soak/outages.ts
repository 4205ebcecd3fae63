import { execFileSync } from 'node:child_process';
import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { runSql, type TestServer } from '../support/postgres.ts';
import {
  always,
  type Fault,
  onEmbedded,
  onPostgres,
  repeat,
  type Stop,
  withWorkers,
  type World,
} from './fault.ts';

const HOUR_MS = 3_600_000;
const MAX_RESTART_MS = 30_000;
/** How long the log is written after its disk has space again. */
const AFTER_FULL_MS = 1000;
const MAX_LEFT_BYTES = 2_000_000;
const ALL_SESSIONS = `select pg_terminate_backend(pid) from pg_stat_activity
  where backend_type = 'client backend' and pid <> pg_backend_pid()`;

/** Sends a signal to processes, of which some may have ended meanwhile. */
function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

async function freeze(pids: readonly number[]): Promise<Stop> {
  signal(pids, 'SIGSTOP');
  return () => signal(pids, 'SIGCONT');
}

/** Fills a disk except for a random rest; returns a function that frees it. */
function fillDisk(disk: string, { random }: World): Stop {
  const ballast = join(disk, 'ballast');
  const { bavail, bsize } = statfsSync(disk);
  const bytes = bavail * bsize - random.whole(0, MAX_LEFT_BYTES);
  if (bytes > 0) execFileSync('fallocate', ['--length', String(bytes), ballast]);
  return () => rmSync(ballast, { force: true });
}

/** Restarts the gateway with its log in another place. */
async function restart({ gateway }: World, sink: typeof gateway.sink): Promise<void> {
  gateway.sink = sink;
  const { starts } = gateway;
  await gateway.terminate();
  const deadline = performance.now() + MAX_RESTART_MS;
  const isBack = async (): Promise<boolean> => gateway.starts > starts && gateway.isReady();
  while (!(await isBack()) && performance.now() < deadline) await sleep(100);
}

/** Shifts the clock of all processes of the gateway. */
const shiftClock = ({ folder }: World, ms: number): void =>
  writeFileSync(join(folder, 'clock'), String(ms));

type OnServer = (server: TestServer, world: World) => Promise<Stop> | Stop;

/** A fault of the PostgreSQL server. */
const ofPostgres = (name: string, start: OnServer): Fault => ({
  name,
  target: 'database',
  disturbs: true,
  gatewayMayEnd: 'at its start',
  isPossible: onPostgres,
  start: (world) => (world.server ? start(world.server, world) : () => {}),
});

/** A fault of the gateway's processes. */
const ofGateway = (
  name: string,
  start: Fault['start'],
  isPossible: Fault['isPossible'] = always,
): Fault => {
  return { name, target: 'gateway', disturbs: true, isPossible, start };
};

/** Faults of processes, databases, disks, the log and the clock. */
export const OUTAGES: readonly Fault[] = [
  ofGateway('gateway killed', ({ gateway }) => {
    gateway.kill();
    return () => {};
  }),
  ofGateway('gateway stopped by SIGTERM', async ({ gateway }) => {
    await gateway.terminate();
    return () => {};
  }),
  ofGateway('gateway frozen', async ({ gateway }) => freeze(await gateway.pids())),
  ofGateway(
    'worker frozen',
    async ({ gateway, random }) => freeze([random.pick((await gateway.pids()).slice(1))]),
    withWorkers,
  ),
  ofGateway(
    'worker killed',
    async ({ gateway, random }) => {
      const worker = random.pick((await gateway.pids()).slice(1));
      gateway.expectedDeaths.add(worker);
      signal([worker], 'SIGKILL');
      return () => {};
    },
    withWorkers,
  ),
  ofGateway(
    'two starts after a kill',
    ({ gateway }) => {
      gateway.startTwice = true;
      gateway.kill();
      return () => {};
    },
    onEmbedded,
  ),
  ofGateway('log to /dev/full', async (world) => {
    await restart(world, '/dev/full');
    return () => restart(world, 'pipe');
  }),
  ofGateway(
    'log on a full disk',
    async (world) => {
      await restart(world, 'file');
      const free = fillDisk(world.logDisk ?? '', world);
      return async () => {
        await free();
        await sleep(AFTER_FULL_MS);
        await restart(world, 'pipe');
      };
    },
    ({ logDisk }) => logDisk !== undefined,
  ),
  {
    name: 'log that nobody reads',
    target: 'gateway',
    disturbs: false,
    isPossible: always,
    start: ({ gateway }) => {
      gateway.readLog(false);
      return () => gateway.readLog(true);
    },
  },
  {
    name: 'clock that jumps',
    target: 'clock',
    disturbs: false,
    isPossible: always,
    start: (world) => {
      shiftClock(world, world.random.whole(-2 * HOUR_MS, 2 * HOUR_MS));
      return () => shiftClock(world, 0);
    },
  },
  {
    name: 'store on a full disk',
    target: 'database',
    disturbs: true,
    gatewayMayEnd: 'at any time',
    isPossible: ({ storeDisk }) => storeDisk !== undefined,
    start: (world) => fillDisk(world.storeDisk ?? '', world),
  },
  ofPostgres('PostgreSQL killed', async (server) => {
    await server.kill();
    return () => server.resume();
  }),
  ofPostgres('PostgreSQL stopped', async (server) => {
    await server.halt();
    return () => server.resume();
  }),
  ofPostgres('PostgreSQL frozen', (server) => {
    server.freeze();
    return () => server.thaw();
  }),
  ofPostgres('PostgreSQL ends its sessions', (server, { random }) =>
    repeat(1, async () => {
      await runSql(server.url, ALL_SESSIONS);
      await sleep(random.whole(10, 500));
    }),
  ),
  ofPostgres('rows locked', (server, { databaseUrl }) =>
    server.lock(databaseUrl ?? '', 'select from inventory_items for update'),
  ),
];
