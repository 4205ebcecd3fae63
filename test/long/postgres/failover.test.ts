import { afterEach, beforeEach, expect, it } from 'vitest';

import { makePet } from '../../support/make.ts';
import { createStoreOn, runSql } from '../../support/postgres.ts';
import {
  expectLogged,
  order,
  ordersOf,
  type ReplicatedGateway,
  send,
  startReaders,
  startReplicatedGateway,
  startWriters,
  type Writers,
} from '../../support/replicated-gateway.ts';
import {
  failOver,
  type ReplicatedServer,
  type Replication,
  startReplication,
} from '../../support/replication.ts';

let replication: Replication;
let primary: ReplicatedServer;
/** The URL of the database on the first primary. */
let url: string;
let gateway: ReplicatedGateway;
let petId: string;

/** Starts a gateway that is given the servers in this order. */
function startOn(servers: readonly ReplicatedServer[]): Promise<ReplicatedGateway> {
  const all = replication.multiHostUrl(url, servers);
  return startReplicatedGateway({ DATABASE_URL: all, DATABASE_REPLICA_URLS: all });
}

const standbys = (): ReplicatedServer[] =>
  replication.servers.filter((server) => server !== primary);

const catchUp = () => Promise.all(standbys().map((standby) => standby.catchUp(primary)));

beforeEach(async () => {
  replication = await startReplication({ synchronous: true });
  [primary] = replication.servers;
  url = await createStoreOn(primary.url);
  await catchUp();
  gateway = await startOn(replication.servers);
  petId = await makePet(gateway, { stock: 1_000_000 });
  await catchUp();
  await expectReadsOnStandbys();
});
afterEach(async () => {
  // A failover makes the gateway log errors; each test checks what callers get.
  gateway.loggedErrors.length = 0;
  try {
    await gateway.close();
  } finally {
    await replication.stop();
  }
});

const nameOf = ({ port }: ReplicatedServer): string => `127.0.0.1:${port}`;
const lost = (server: ReplicatedServer): string =>
  `Lost the primary ${nameOf(server)}. Mutations are rejected until a server accepts writes again.`;
const found = (server: ReplicatedServer): RegExp =>
  new RegExp(`^${nameOf(server)} is now the primary, after \\d+ ms without a primary\\.$`);

const linesAboutPrimary = (): string[] =>
  gateway.messages.filter((message) => /^Lost the primary|is now the primary/.test(message));

/** Waits until all standbys serve queries: after a failover, the gateway must know that each follows the primary. */
async function expectReadsOnStandbys(): Promise<void> {
  const lastLines = () =>
    standbys().map((standby) =>
      gateway.messages.findLast((line) => line.startsWith(`Replica ${nameOf(standby)} `)),
    );
  const used = standbys().map((standby) => `Replica ${nameOf(standby)} now serves reads.`);
  await expect.poll(lastLines).toEqual(used);
}

/** Finds the connection with which a gateway checks a server. */
const IS_CHECKED = `select from pg_stat_activity
  where application_name = 'pet-store-gateway' and query like '%timeline%' and state = 'idle'`;

const PET = (): string => `{ pet(id: "${petId}") { name inventory { quantity } } }`;

const ordersOn = (server: ReplicatedServer): Promise<Set<unknown>> => ordersOf(server.urlOf(url));

const read = () => startReaders(gateway, PET(), { concurrency: 6, path: `/pets/${petId}` });

const write = (concurrency: number): Writers => startWriters(gateway, petId, { concurrency });

it('a gateway loses no order and fails no read when the primary crashes or stops', async () => {
  const readers = read();
  const writers = write(6);
  const expected = [];
  for (const end of ['kill', 'stop', 'kill'] as const) {
    await Promise.all([writers.more(30), readers.more(50)]);
    const old = primary;
    await (end === 'kill' ? old.kill() : old.stop());
    expected.push(lost(old));
    await readers.more(50);
    primary = await failOver(standbys());
    expected.push(expect.stringMatching(found(primary)));
    await writers.more(30);
    await old.rejoin(primary);
    await expectReadsOnStandbys();
  }
  await readers.stop();
  await writers.stop();
  const { ids } = writers;
  expect(new Set(ids).size).toBe(ids.length);
  expect(await ordersOn(primary)).toEqual(new Set(ids));
  const { data } = await send(gateway, PET());
  expect(data.pet.inventory.quantity).toBe(1_000_000 - ids.length);
  expect(linesAboutPrimary()).toEqual(expected);
});

it('a gateway without a primary serves queries and rejects mutations, and a new gateway does not start', async () => {
  const written = await send(gateway, order(petId, 'before'));
  await catchUp();
  await primary.kill();
  const mutations = [
    order(petId, 'during'),
    `mutation { updatePet(id: "${petId}", input: { name: "Cleo" }) { ... on Pet { id } } }`,
    `mutation { adjustInventory(petId: "${petId}", by: -1) { ... on InventoryItem { id } } }`,
    'mutation { createCategory(input: { name: "Newts" }) { ... on Category { id } } }',
  ];
  // The gateway does not know of the crash yet.
  const first = await Promise.all(mutations.map((mutation) => send(gateway, mutation)));
  await expectLogged(gateway, lost(primary));
  gateway.loggedErrors.length = 0;
  const later = await Promise.all(
    Array.from({ length: 5 }, () => mutations.map((mutation) => send(gateway, mutation))).flat(),
  );
  expect(gateway.loggedErrors).toEqual([]);
  for (const { code, retryAfter, ms, position } of [...first, ...later]) {
    expect([code, retryAfter, position]).toEqual(['SERVICE_UNAVAILABLE', '1', null]);
    expect(ms).toBeLessThan(1000);
  }
  for (const position of [null, written.position]) {
    const { data } = await send(gateway, PET(), position);
    expect(data.pet.inventory.quantity).toBe(999_999);
  }
  const ready = await gateway.rest('/ready');
  expect([ready.status, await ready.json()]).toEqual([200, { status: 'ready', writes: false }]);
  expect((await gateway.rest('/ready?for=writes')).status).toBe(503);
  const names = standbys().map((standby) => `${nameOf(standby)} does not accept writes`);
  await expect(startOn(replication.servers)).rejects.toThrow(
    new RegExp(`^DATABASE_URL: .*ECONNREFUSED ${nameOf(primary)}, ${names.join(', ')}\\.$`),
  );

  const old = primary;
  primary = await failOver(standbys());
  await expectLogged(gateway, found(primary));
  expect((await gateway.rest('/ready?for=writes')).status).toBe(200);
  const { data } = await send(gateway, order(petId, 'during'));
  expect(await ordersOn(primary)).toEqual(
    new Set([written.data.placeOrder.id, data.placeOrder.id]),
  );
  expect(linesAboutPrimary()).toEqual([lost(old), expect.stringMatching(found(primary))]);
});

it('once another server is promoted, a gateway cancels the requests that wait for a frozen primary', async () => {
  const former = primary;
  const readers = read();
  const writers = write(4);
  await Promise.all([readers.more(50), writers.more(30)]);
  former.freeze();
  await expectLogged(gateway, lost(former));
  primary = await failOver(standbys().filter((server) => server !== former));
  await expectLogged(gateway, found(primary));
  await Promise.all([readers.more(50), writers.more(30)]);
  former.thaw();
  await expect.poll(() => runSql(former.urlOf(url), IS_CHECKED)).toHaveLength(1);
  await Promise.all([readers.more(50), writers.more(50)]);
  await readers.stop();
  await writers.stop();
  expect(await ordersOn(primary)).toEqual(new Set(writers.ids));
  expect(linesAboutPrimary()).toEqual([lost(former), expect.stringMatching(found(primary))]);
});

it('a gateway writes nothing to a former primary that comes back and accepts writes', async () => {
  const former = primary;
  await former.kill();
  primary = await failOver(standbys());
  await former.start();
  const rows = await ordersOn(former);
  await expect.poll(() => runSql(former.urlOf(url), IS_CHECKED)).toHaveLength(1);
  const writers = write(4);
  await writers.more(200);
  // A gateway that starts now connects to the former primary first.
  const other = await startOn([
    former,
    ...standbys().filter((server) => server !== former),
    primary,
  ]);
  const { data } = await send(other, order(petId, 'other'));
  await other.close();
  await writers.stop();
  const ids = [...writers.ids, data.placeOrder.id];
  expect(await ordersOn(former)).toEqual(rows);
  expect(await ordersOn(primary)).toEqual(new Set(ids));

  // The same holds if the former primary is the only server left that accepts writes.
  const [third] = standbys().filter((server) => server !== former);
  await primary.kill();
  await expectLogged(gateway, lost(primary));
  const rejected = await send(gateway, order(petId, 'last'));
  expect([rejected.code, rejected.ms < 1000]).toEqual(['SERVICE_UNAVAILABLE', true]);
  expect((await send(gateway, PET())).data.pet.name).toBe('Cleo');
  primary = await failOver([third as ReplicatedServer]);
  await former.rejoin(primary);
  await expect.poll(async () => (await send(gateway, order(petId, 'last'))).code).toBeUndefined();
  expect((await ordersOn(primary)).size).toBe(ids.length + 1);
});
