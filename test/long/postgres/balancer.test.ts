import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { openEvents } from '../../support/live.ts';
import { makePet } from '../../support/make.ts';
import { countConnections, createStoreOn, runSql, setStandbys } from '../../support/postgres.ts';
import { type Proxy, startTcpProxy, through } from '../../support/proxies.ts';
import {
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
/** The addresses of the primary and of the replicas, like HAProxy's. Open connections stay where they are. */
let writes: Proxy;
let reads: Proxy;
let gateway: ReplicatedGateway;
let petId: string;

const catchUp = () => Promise.all([promoted, follower].map((standby) => standby.catchUp(former)));

beforeEach(async () => {
  replication = await startReplication();
  [former, promoted, follower] = replication.servers;
  url = await createStoreOn(former.url);
  writes = await startTcpProxy([former.url]);
  reads = await startTcpProxy([follower.url]);
  gateway = await startReplicatedGateway({
    DATABASE_URL: through(writes, url),
    DATABASE_REPLICA_URL: through(reads, url),
    POOL_SIZE: String(POOL_SIZE),
    STATEMENT_TIMEOUT_MS: '2000',
  });
  petId = await makePet(gateway, { stock: 1_000_000 });
  await catchUp();
});
afterEach(async () => {
  // A failover makes the gateway log errors; each test checks what callers get.
  gateway.loggedErrors.length = 0;
  try {
    await gateway.close();
  } finally {
    await Promise.all([writes.close(), reads.close()]);
    await replication.stop();
  }
});

/** Fails over like Patroni, whether or not the former primary notices. New connections lead to the new primary. */
async function promote(): Promise<void> {
  // The follower is cut off first, because it must not have received more than the promoted replica.
  await follower.cutOff();
  await promoted.cutOff();
  await promoted.promote();
  await follower.follow(promoted);
  writes.targets = [promoted.url];
}

const write = (concurrency: number, quantity = 1): Writers =>
  startWriters(gateway, petId, { concurrency, quantity });

const rename = (name: string) =>
  send(
    gateway,
    `mutation { updatePet(id: "${petId}", input: { name: "${name}" }) { ... on Pet { name } } }`,
  );

const PET = (): string => `{ pet(id: "${petId}") { name inventory { quantity } } }`;

/** Opens idle connections of the gateway to the primary. */
async function fillPool(): Promise<void> {
  const fill = async (): Promise<number> => {
    await Promise.all(Array.from({ length: 4 * POOL_SIZE }, () => rename('Cleo')));
    return countConnections(former.urlOf(url));
  };
  await expect.poll(fill).toBeGreaterThanOrEqual(POOL_SIZE);
}

const QUANTITY_AFTER = 2;

describe('a gateway whose database address leads to another server after a failover', () => {
  const LISTENING = `select from pg_stat_activity where query ilike 'listen %'
    and application_name = 'pet-store-gateway' and datname = current_database()`;

  it.each(['always accepted writes', 'was frozen and continues'])(
    'leaves a former primary that %s with all connections, also the one that listens, and writes nothing to it',
    async (what) => {
      await setStandbys(former.url, promoted.name);
      const events = await openEvents(gateway, 'subscription { orderChanged { kind } }');
      await fillPool();
      const before = write(2);
      await before.more(30);
      const isFrozen = what === 'was frozen and continues';
      if (isFrozen) former.freeze();
      await promote();
      await expect.poll(() => countConnections(promoted.urlOf(url))).toBeGreaterThan(0);

      if (isFrozen) former.thaw();
      // From now on, the former primary would acknowledge writes on its own.
      await setStandbys(former.url, '');
      const after = write(2 * POOL_SIZE, QUANTITY_AFTER);
      await expect.poll(() => countConnections(former.urlOf(url))).toBe(0);
      await Promise.all([before.more(20), after.more(100)]);
      await expect.poll(() => runSql(promoted.urlOf(url), LISTENING)).toHaveLength(1);
      expect(await countConnections(former.urlOf(url))).toBe(0);
      await before.stop();
      await after.stop();
      const ids = [...before.ids, ...after.ids];
      expect(await ordersOf(promoted.urlOf(url))).toEqual(new Set(ids));
      const lost = await ordersOf(former.urlOf(url), `quantity = ${QUANTITY_AFTER}`);
      expect(lost).toEqual(new Set());
      expect((await gateway.rest('/ready?for=writes')).status).toBe(200);
      events.disconnect();
    },
  );

  it('reads no change that the failover lost if the request has a position', async () => {
    await rename('Kept');
    await promoted.catchUp(former);
    await promoted.cutOff();
    await rename('Lost');
    await follower.catchUp(former);
    await former.kill();
    await promoted.promote();
    writes.targets = [promoted.url];
    await expect.poll(async () => (await rename('New')).code).toBeUndefined();
    const { position } = await rename('Newer');
    const all = Array.from({ length: 40 }, () => send(gateway, PET(), position));
    const names = (await Promise.all(all)).map(({ data }) => data.pet.name);
    expect(new Set(names)).toEqual(new Set(['Newer']));
  });
});

it('while its database address leads to a standby, a gateway rejects writes and reads with a position', async () => {
  const { position } = await rename('Now');
  writes.targets = [follower.url];
  writes.cutAll();
  await expect.poll(async () => (await rename('Later')).code).toBe('SERVICE_UNAVAILABLE');
  for (let turn = 0; turn < 3; turn += 1) {
    expect((await rename('Later')).code).toBe('SERVICE_UNAVAILABLE');
    expect((await send(gateway, PET(), position)).code).toBe('SERVICE_UNAVAILABLE');
    expect((await send(gateway, PET())).code).toBeUndefined();
    expect(await (await gateway.rest('/ready')).json()).toEqual({ status: 'ready', writes: false });
  }
  writes.targets = [former.url];
  await expect.poll(async () => (await rename('Later')).code).toBeUndefined();
  expect((await send(gateway, PET(), position)).data.pet.name).toBe('Later');
  expect((await gateway.rest('/ready?for=writes')).status).toBe(200);
});
