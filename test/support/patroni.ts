import { spawnSync } from 'node:child_process';
import { chown, copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { type Daemon, startDaemon } from './daemon.ts';
import { hasServer, Member, startLinks, toStoreUrl } from './patroni-member.ts';
import { findUser } from './postgres-programs.ts';
import { freePort } from './postgres.ts';
import { until } from './until.ts';

/** Whether the programs of a cluster are installed: Debian's packages patroni, etcd-server, haproxy and postgresql. */
export const hasPatroni =
  hasServer &&
  [
    ['patroni', '--version'],
    ['etcd', '--version'],
    ['haproxy', '-v'],
  ].every(([program = '', flag = '']) => spawnSync(program, [flag]).status === 0);

const MEMBERS = ['db-1', 'db-2', 'db-3'] as const;

interface Promotion {
  readonly primary: Member;
  /** When it was first seen to be the primary, as in `performance.now()`. */
  readonly at: number;
}

/** A cluster of three servers behind HAProxy, as in deploy/patroni. */
export interface Cluster {
  readonly members: readonly Member[];
  /** The variables with which a gateway uses HAProxy's two addresses. */
  readonly environment: { readonly DATABASE_URL: string; readonly DATABASE_REPLICA_URL: string };
  /**
   * Waits until there is a primary, a replica that confirms its commits unless replication is asynchronous, and another
   * replica; returns the primary.
   */
  readonly settle: (isSynchronous?: boolean) => Promise<Member>;
  /** Waits until one of the replicas has become the primary. */
  readonly promoted: (replicas: readonly Member[]) => Promise<Promotion>;
  readonly stop: () => Promise<void>;
}

async function writeHaproxyConfig(
  file: string,
  members: readonly Member[],
  ports: readonly [number, number],
): Promise<void> {
  let text = (await readFile('deploy/patroni/haproxy.cfg', 'utf8'))
    .replace('bind :5432', `bind 127.0.0.1:${ports[0]}`)
    .replace('bind :5433', `bind 127.0.0.1:${ports[1]}`);
  for (const { name, port, api } of members) {
    text = text.replaceAll(
      `${name}:5432 check port 8008`,
      `127.0.0.1:${port} check port ${new URL(api).port}`,
    );
  }
  await writeFile(file, text);
}

const logsOf = (members: readonly Member[]): string =>
  members.map((one) => one.log().slice(-2000)).join('\n');

async function settle(members: readonly Member[], isSynchronous = true): Promise<Member> {
  let primary: Member | undefined;
  const isSettled = async (): Promise<boolean> => {
    const states = await Promise.all(members.map((one) => one.isPrimary()));
    primary = members[states.indexOf(true)];
    const roles = await primary?.roles().catch(() => []);
    return roles?.join() === `leader,replica,${isSynchronous ? 'sync_standby' : 'replica'}`;
  };
  await until(() => `the cluster is complete:\n${logsOf(members)}`, isSettled);
  return primary as Member;
}

async function promoted(replicas: readonly Member[]): Promise<Promotion> {
  let primary: Member | undefined;
  const isPromoted = async (): Promise<boolean> => {
    const states = await Promise.all(replicas.map((one) => one.isPrimary()));
    primary = replicas[states.indexOf(true)];
    return primary !== undefined;
  };
  await until(() => `a replica is promoted:\n${logsOf(replicas)}`, isPromoted);
  return { primary: primary as Member, at: performance.now() };
}

async function startEtcd(folder: string): Promise<{ url: string; daemon: Daemon }> {
  const url = `http://127.0.0.1:${await freePort()}`;
  const peer = `http://127.0.0.1:${await freePort()}`;
  const flags = {
    'enable-v2': true,
    'data-dir': join(folder, 'etcd'),
    'listen-client-urls': url,
    'advertise-client-urls': url,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': `default=${peer}`,
  };
  const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
  const options = { ...findUser(), cwd: folder };
  return {
    url,
    daemon: await startDaemon('etcd', args, /ready to serve client requests/, options),
  };
}

export async function startCluster(): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), 'store-patroni-'));
  const user = findUser();
  if (user.uid !== undefined && user.gid !== undefined) await chown(folder, user.uid, user.gid);
  await copyFile('deploy/patroni/patroni.yaml', join(folder, 'patroni.yaml'));
  const etcd = await startEtcd(folder);
  const daemons = [etcd.daemon];
  const ports = await Promise.all(Array.from({ length: 8 }, freePort));
  const [writes = 0, reads = 0] = ports.splice(0, 2);
  const members = await Promise.all(
    MEMBERS.map(async (name) => {
      const own: [number, number] = [ports.pop() ?? 0, ports.pop() ?? 0];
      return new Member(name, folder, await startLinks(etcd.url, own), own);
    }),
  );
  const stop = async (): Promise<void> => {
    await Promise.all(members.map((one) => one.stop()));
    for (const daemon of daemons) daemon.process.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  };
  const config = join(folder, 'haproxy.cfg');
  try {
    await writeHaproxyConfig(config, members, [writes, reads]);
    await Promise.all(members.map((one) => one.start()));
    const args = ['-db', '-f', config];
    daemons.push(await startDaemon('haproxy', args, /is DOWN/, { ...user, cwd: folder }));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    members,
    environment: { DATABASE_URL: toStoreUrl(writes), DATABASE_REPLICA_URL: toStoreUrl(reads) },
    settle: (isSynchronous) => settle(members, isSynchronous),
    promoted,
    stop,
  };
}
