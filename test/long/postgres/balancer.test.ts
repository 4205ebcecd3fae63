import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { makePet } from '../../support/make.ts';
import { createStoreOn, runSql } from '../../support/postgres.ts';
import { type Proxy, startTcpProxy } from '../../support/proxies.ts';
import {
  expectLogged,
  ordersOf,
  type ReplicatedGateway,
  send,
  startReplicatedGateway,
  startWriters,
  type Writers,
} from '../../support/replicated-gateway.ts';
import {
  type ReplicatedServer,
  type Replication,
  startReplication,
} from '../../support/replication.ts';

const POOL_SIZE = 5;

let replication: Replication;
/** The initial primary, the replica that is promoted, and the replica that follows it afterwards. */
let former: ReplicatedServer;
let promoted: ReplicatedServer;
let follower: ReplicatedServer;
/** The URL of the database on the former primary. */
let url: string;
/** A single address in front of the servers, like HAProxy. */
let balancer: Proxy;
let gateway: ReplicatedGateway;
let petId: string;

/** Sets the standby that must have received a write before the server acknowledges it; none if the name is empty. */
async function setSynchronous(server: ReplicatedServer, standby: string): Promise<void> {
  await runSql(server.url, `alter system set synchronous_standby_names = '${standby}'`);
  await runSql(server.url, 'select pg_reload_conf()');
}

async function startOn(replicas: readonly ReplicatedServer[], user = 'store'): Promise<void> {
  const asUser = (href: string, port: number): string => {
    const address = new URL(href);
    return Object.assign(address, { username: user, port: String(port) }).href;
  };
  gateway = await startReplicatedGateway({
    DATABASE_URL: asUser(url, Number(new URL(balancer.url).port)),
    DATABASE_REPLICA_URLS: replicas.map(({ port }) => asUser(url, port)).join(' '),
    POOL_SIZE: String(POOL_SIZE),
    STATEMENT_TIMEOUT_MS: '2000',
  });
  petId = await makePet(gateway, { stock: 1_000_000 });
  await promoted.catchUp(former);
  await follower.catchUp(former);
}

beforeEach(async () => {
  replication = await startReplication();
  [former, promoted, follower] = replication.servers;
  url = await createStoreOn(former.url);
  await setSynchronous(former, promoted.name);
  balancer = await startTcpProxy([former.url]);
});
afterEach(async () => {
  // A failover makes the gateway log errors; each test checks what callers get.
  gateway.loggedErrors.length = 0;
  try {
    await gateway.close();
  } finally {
    await balancer.close();
    await replication.stop();
  }
});

/** Fails over like Patroni, whether or not the former primary notices. */
async function promote(): Promise<void> {
  // The follower is cut off first, because it must not have received more than the promoted replica.
  await follower.cutOff();
  await promoted.cutOff();
  await promoted.promote();
  await follower.follow(promoted);
}

/** Returns the ids of the orders on a server; if there is a condition, only of those that meet it. */
const ordersOn = (server: ReplicatedServer, where?: string): Promise<Set<unknown>> =>
  ordersOf(server.urlOf(url), where);

/** Stops writers, and expects the new primary to have the orders that they placed. */
async function expectAllPromoted(...all: Writers[]): Promise<void> {
  for (const writers of all) await writers.stop();
  const ids = all.flatMap((writers) => writers.ids);
  expect(await ordersOn(promoted)).toEqual(new Set(ids));
}

const write = (concurrency: number, quantity: number): Writers =>
  startWriters(gateway, petId, { concurrency, quantity });

/** Waits until the gateway has found the new primary. */
const expectFound = (): Promise<void> => expectLogged(gateway, / is now the primary, after \d+ ms/);

/**
 * Counts the connections that can write. The connection for notifications may stay, because changes are polled too.
 */
const connectionsToFormer = async (): Promise<number> => {
  const rows = await runSql(
    former.urlOf(url),
    `select from pg_stat_activity where application_name = 'pet-store-gateway'
       and datname = current_database() and query not ilike 'listen %'`,
  );
  return rows.length;
};

const rename = (name: string) =>
  send(
    gateway,
    `mutation { updatePet(id: "${petId}", input: { name: "${name}" }) { ... on Pet { name } } }`,
  );

/** Opens idle connections of the gateway to the former primary. */
async function fillPool(): Promise<void> {
  const fill = async (): Promise<number> => {
    await Promise.all(Array.from({ length: 4 * POOL_SIZE }, () => rename('Cleo')));
    return gateway.db.poolUse?.().idle ?? 0;
  };
  await expect.poll(fill).toBe(POOL_SIZE);
}

const QUANTITY_AFTER = 2;

describe('a gateway whose database address leads to another server after a failover', () => {
  it.each([
    ['always accepted writes', 'the replica that is promoted', () => promoted],
    ['always accepted writes', 'a replica that is not promoted', () => follower],
    ['was frozen and continues', 'a replica that is not promoted', () => follower],
  ])(
    'writes nothing to a former primary that %s, if DATABASE_REPLICA_URLS names %s',
    async (what, _which, replica) => {
      await startOn([replica()]);
      await fillPool();
      const before = write(2, 1);
      await before.more(30);
      const isFrozen = what === 'was frozen and continues';
      if (isFrozen) former.freeze();
      await promote();
      balancer.targets = [promoted.url];
      await expectFound();

      if (isFrozen) former.thaw();
      // From now on, the former primary would acknowledge writes on its own.
      await setSynchronous(former, '');
      const after = write(2 * POOL_SIZE, QUANTITY_AFTER);
      await expect.poll(connectionsToFormer).toBe(0);
      await Promise.all([before.more(20), after.more(100)]);
      expect(await connectionsToFormer()).toBe(0);
      await expectAllPromoted(before, after);
      expect(await ordersOn(former, `quantity = ${QUANTITY_AFTER}`)).toEqual(new Set());
      expect((await gateway.rest('/ready?for=writes')).status).toBe(200);
    },
  );

  it("detects the failover on a new connection, even if the gateway's role is not allowed to read timelines", async () => {
    // A member of the owner's role, but not a superuser.
    await runSql(former.url, `create role plain login password 'store' in role store`);
    await promoted.catchUp(former);
    await startOn([follower], 'plain');
    const before = write(2, 1);
    await before.more(30);
    await promote();
    balancer.targets = [promoted.url];
    // These writers need connections that the pool does not have yet.
    const after = write(2 * POOL_SIZE, QUANTITY_AFTER);
    await expectFound();
    await setSynchronous(former, '');
    await expect.poll(connectionsToFormer).toBe(0);
    await Promise.all([before.more(20), after.more(50)]);
    await expectAllPromoted(before, after);
  });

  it('replaces connections to a former primary that is frozen, even without DATABASE_REPLICA_URLS', async () => {
    await startOn([]);
    await fillPool();
    const writers = write(2, 1);
    await writers.more(30);
    former.freeze();
    await promote();
    balancer.targets = [promoted.url];
    await writers.more(100);
    await expectAllPromoted(writers);
  });
});

/** Reads the pet many times, and returns the different names found. */
async function namesOf(position?: string | null): Promise<Set<string>> {
  const reads = Array.from({ length: 40 }, () =>
    send(gateway, `{ pet(id: "${petId}") { name } }`, position),
  );
  return new Set((await Promise.all(reads)).map(({ data }) => data.pet.name));
}

it('a replica with changes that a failover lost serves no reads', async () => {
  await startOn([promoted, follower]);
  await rename('Kept');
  await promoted.catchUp(former);
  await setSynchronous(former, '');
  await promoted.cutOff();
  await rename('Lost');
  await follower.catchUp(former);
  await former.kill();
  await promoted.promote();
  balancer.targets = [promoted.url];
  await expectFound();
  expect(await namesOf()).toEqual(new Set(['Kept']));
  const { position } = await rename('New');
  expect(await namesOf(position)).toEqual(new Set(['New']));
});
