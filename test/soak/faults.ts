import { execFileSync } from 'node:child_process';
import { rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

import { holdLock, type PostgresServer, runSql, setStandbys } from '../support/postgres.ts';
import { isAlive } from '../support/program.ts';
import type { GatewayProcess } from './gateway-process.ts';
import { whole } from './random.ts';

const MAX_LEFT_BYTES = 2_000_000;
const ALL_SESSIONS = `select pg_terminate_backend(pid) from pg_stat_activity
  where backend_type = 'client backend' and pid <> pg_backend_pid()`;

type Stop = () => Promise<void> | void;

export type Faults = Record<string, () => Promise<Stop> | Stop>;

const nothing = (): void => {};

export const gatewayFaults = (gateway: GatewayProcess): Faults => ({
  'gateway killed': () => gateway.end('SIGKILL').then(() => nothing),
  'gateway stopped by SIGTERM': () => gateway.end('SIGTERM').then(() => nothing),
  'gateway frozen': () => {
    const { pid } = gateway;
    // It may have exited.
    const signal = (name: NodeJS.Signals) => void (isAlive(pid) && process.kill(pid, name));
    signal('SIGSTOP');
    return () => signal('SIGCONT');
  },
});

export const diskFaults = (disk: string): Faults => ({
  'store on a full disk': () => {
    const ballast = join(disk, 'ballast');
    const { bavail, bsize } = statfsSync(disk);
    const bytes = bavail * bsize - whole(0, MAX_LEFT_BYTES);
    if (bytes > 0) execFileSync('fallocate', ['--length', String(bytes), ballast]);
    return () => rmSync(ballast, { force: true });
  },
});

export const postgresFaults = (server: PostgresServer, databaseUrl: string): Faults => ({
  'PostgreSQL killed': () => server.kill().then(() => () => server.start()),
  'PostgreSQL stopped': () => server.stop().then(() => () => server.start()),
  'PostgreSQL frozen': () => {
    server.freeze();
    return () => server.thaw();
  },
  'PostgreSQL ends its sessions': () => {
    const ending = setInterval(() => void runSql(server.url, ALL_SESSIONS).catch(nothing), 200);
    return () => clearInterval(ending);
  },
  'commits wait': async () => {
    await setStandbys(server.url, 'nosuch');
    return () => setStandbys(server.url, '');
  },
  'rows locked': () => holdLock(databaseUrl, 'select from inventory_items for update'),
});
