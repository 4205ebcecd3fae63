import { execFileSync } from 'node:child_process';
import { rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { holdLock, type PostgresServer, runSql } from '../support/postgres.ts';
import { isAlive } from '../support/program.ts';
import { failOver, type ReplicatedServer, type Replication } from '../support/replication.ts';
import type { GatewayProcess } from './gateway-process.ts';
import { pick, whole } from './random.ts';

const MAX_LEFT_BYTES = 2_000_000;
// A cluster needs some time to detect a lost primary.
const MAX_WITHOUT_PRIMARY_MS = 2000;
const MAX_DELAY_MS = 2000;
const ALL_SESSIONS = `select pg_terminate_backend(pid) from pg_stat_activity
  where backend_type = 'client backend' and pid <> pg_backend_pid()`;

/** Ends a fault. */
type Stop = () => Promise<void> | void;

/** The functions that start the faults, by the fault's name. */
export type Faults = Record<string, () => Promise<Stop> | Stop>;

const nothing = (): void => {};

/** Sends a signal to processes, some of which may have exited. */
function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids.filter(isAlive)) process.kill(pid, name);
}

function freeze(pids: readonly number[]): Stop {
  signal(pids, 'SIGSTOP');
  return () => signal(pids, 'SIGCONT');
}

/** Faults of the gateway's processes. */
export function gatewayFaults(gateway: GatewayProcess): Faults {
  return {
    'gateway killed': async () => {
      await gateway.end('SIGKILL');
      return nothing;
    },
    'gateway stopped by SIGTERM': async () => {
      await gateway.end('SIGTERM');
      return nothing;
    },
    'gateway frozen': () => freeze([gateway.pid]),
  };
}

/** Faults of the embedded database on a small disk. */
export const diskFaults = (disk: string): Faults => ({
  'store on a full disk': () => {
    const ballast = join(disk, 'ballast');
    const { bavail, bsize } = statfsSync(disk);
    const bytes = bavail * bsize - whole(0, MAX_LEFT_BYTES);
    if (bytes > 0) execFileSync('fallocate', ['--length', String(bytes), ballast]);
    return () => rmSync(ballast, { force: true });
  },
});

/** Faults of the only PostgreSQL server. */
export const postgresFaults = (server: PostgresServer, databaseUrl: string): Faults => ({
  'PostgreSQL killed': async () => {
    await server.kill();
    return () => server.start();
  },
  'PostgreSQL stopped': async () => {
    await server.stop();
    return () => server.start();
  },
  'PostgreSQL frozen': () => {
    server.freeze();
    return () => server.thaw();
  },
  'PostgreSQL ends its sessions': () => {
    const ending = setInterval(() => void runSql(server.url, ALL_SESSIONS).catch(nothing), 200);
    return () => clearInterval(ending);
  },
  'rows locked': () => holdLock(databaseUrl, 'select from inventory_items for update'),
});

/** Faults of a primary and its replicas. `onFailover` is called with the new primary. */
export function clusterFaults(
  replication: Replication,
  onFailover: (primary: ReplicatedServer) => void,
): Faults {
  const { servers } = replication;
  let [primary] = servers;
  const replicas = (): ReplicatedServer[] => servers.filter((server) => server !== primary);
  /** Loses the primary and promotes a replica; at the end, the old primary becomes a replica of the new one. */
  const loseBy = (lose: 'kill' | 'stop' | 'freeze') => async (): Promise<Stop> => {
    const old = primary;
    const others = replicas();
    await old[lose]();
    await sleep(whole(0, MAX_WITHOUT_PRIMARY_MS));
    primary = await failOver(others);
    onFailover(primary);
    return () => old.rejoin(primary);
  };
  return {
    'primary killed': loseBy('kill'),
    'primary stopped': loseBy('stop'),
    'primary frozen': loseBy('freeze'),
    'replica killed': async () => {
      const replica = pick(replicas());
      await replica.kill();
      return () => replica.rejoin(primary);
    },
    'replica frozen': () => {
      const replica = pick(replicas());
      replica.freeze();
      return () => replica.thaw();
    },
    'replica cut off': async () => {
      const replica = pick(replicas());
      await replica.cutOff();
      return () => replica.follow(primary);
    },
    'replica delayed': async () => {
      const replica = pick(replicas());
      await replica.setDelay(whole(100, MAX_DELAY_MS));
      return () => replica.setDelay(0);
    },
  };
}
