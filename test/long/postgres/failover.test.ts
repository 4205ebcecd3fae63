import { setTimeout as sleep } from 'node:timers/promises';

import { afterEach, beforeEach, expect, it } from 'vitest';

import { makePet } from '../../support/make.ts';
import { createStoreOn, runSql } from '../../support/postgres.ts';
import {
  type Readers,
  type ReplicatedGateway,
  send,
  startReaders,
  startReplicatedGateway,
  WAIT,
} from '../../support/replicated-gateway.ts';
import {
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

/** Starts a gateway that knows the servers in this order. */
function startOn(servers: readonly ReplicatedServer[]): Promise<ReplicatedGateway> {
  const all = replication.multiHostUrl(url, servers);
  return startReplicatedGateway({ DATABASE_URL: all, DATABASE_REPLICA_URLS: all });
}

const standbys = (): ReplicatedServer[] =>
  replication.servers.filter((server) => server !== primary);

async function catchUp(): Promise<void> {
  const lsn = await primary.lsn();
  await Promise.all(standbys().map((standby) => standby.waitUntilReplayed(lsn)));
}

beforeEach(async () => {
  replication = await startReplication({ synchronous: true });
  primary = replication.servers[0] as ReplicatedServer;
  url = await createStoreOn(primary.url);
  await catchUp();
  gateway = await startOn(replication.servers);
  petId = await makePet(gateway, { stock: 1_000_000 });
  await catchUp();
  await expectReadsOnStandbys();
});
afterEach(async () => {
  // Each test checks what callers get; the log has the causes.
  gateway.loggedErrors.length = 0;
  await gateway.close();
  await replication.stop();
});

const nameOf = ({ port }: ReplicatedServer): string => `127.0.0.1:${port}`;
const lost = (server: ReplicatedServer): string =>
  `The primary ${nameOf(server)} is lost: mutations are rejected.`;
const found = (server: ReplicatedServer): RegExp =>
  new RegExp(`^The primary is ${nameOf(server)} now, after \\d+ ms without one\\.$`);

const linesAboutPrimary = (): string[] =>
  gateway.messages.filter((message) => message.startsWith('The primary '));

/** Waits for a line of the log. */
async function expectLogged(pattern: RegExp | string): Promise<void> {
  await expect.poll(() => gateway.messages, WAIT).toContainEqual(expect.stringMatching(pattern));
}

/** Waits until queries are read on all standbys: after a failover, each must be known to follow the primary. */
async function expectReadsOnStandbys(): Promise<void> {
  const lastLines = () =>
    standbys().map((standby) =>
      gateway.messages.findLast((line) => line.includes(`the replica ${nameOf(standby)}`)),
    );
  const used = standbys().map((standby) => `Reads use the replica ${nameOf(standby)}.`);
  await expect.poll(lastLines, WAIT).toEqual(used);
}

/** The connection of a gateway's checks. */
const IS_CHECKED = `select from pg_stat_activity
  where application_name = 'pet-store-gateway' and query like '%timeline%' and state = 'idle'`;

const PET = (): string => `{ pet(id: "${petId}") { name inventory { quantity } } }`;

const order = (key: string): string =>
  `mutation { placeOrder(input: { petId: "${petId}", quantity: 1 }, idempotencyKey: "${key}") {
    ... on Order { id } ... on Error { code } } }`;

const orderById = (id: string): string => `{ order(id: "${id}") { id } }`;

/** Returns the ids of all orders, as a server has them. */
async function ordersOn(server: ReplicatedServer): Promise<Set<unknown>> {
  const rows = await runSql(server.urlOf(url), 'select id::text from orders');
  return new Set(rows.map(({ id }) => id));
}

// A server that does not respond is given up after two seconds, a new connection to it after five.
const MAX_MS = 8000;

const read = (): Readers =>
  startReaders(gateway, PET(), { concurrency: 6, path: `/pets/${petId}`, maxMs: MAX_MS });

interface Writers {
  /** Waits until `count` more orders are acknowledged. */
  readonly more: (count: number) => Promise<void>;
  /** Returns the ids of the orders, one for each key. */
  readonly stop: () => Promise<string[]>;
}

/** Starts callers that each repeat an order with its key until it is acknowledged. */
function startWriters(concurrency: number): Writers {
  const ids: string[] = [];
  const faults: unknown[] = [];
  const end = new AbortController();
  const expectSeen = async (id: string, position: string): Promise<void> => {
    for (;;) {
      const seen = await send(gateway, orderById(id), position);
      if (seen.data?.order?.id === id) return;
      // If the primary is lost at once, no standby may have all of its log until that position.
      if (seen.retryAfter !== '1') {
        faults.push({ id, seen });
        return;
      }
      await sleep(20);
    }
  };
  const place = async (key: string): Promise<void> => {
    for (;;) {
      const { data, code, retryAfter, ms, position } = await send(gateway, order(key));
      if (ms > MAX_MS) faults.push(`A mutation took ${ms} ms.`);
      const id = data?.placeOrder?.id;
      if (id) {
        ids.push(id);
        // Without a position, the primary was lost after the write.
        if (position !== null) await expectSeen(id, position);
        return;
      }
      const mayRepeat =
        (code === 'SERVICE_UNAVAILABLE' && retryAfter === '1') || code === 'OUTCOME_UNKNOWN';
      if (!mayRepeat) faults.push({ code, retryAfter, data });
      await sleep(20);
    }
  };
  const placeAll = async (_: unknown, writer: number): Promise<void> => {
    for (let count = 0; !end.signal.aborted; count += 1) await place(`${writer}-${count}`);
  };
  const all = Array.from({ length: concurrency }, placeAll);
  return {
    more: async (count) => {
      const before = ids.length;
      await expect.poll(() => ids.length, WAIT).toBeGreaterThanOrEqual(before + count);
    },
    stop: async () => {
      end.abort();
      await Promise.all(all);
      expect(faults).toEqual([]);
      return ids;
    },
  };
}

it('loses no order and fails no read, by a crash or a stop of the primary', async () => {
  const readers = read();
  const writers = startWriters(6);
  const expected = [];
  for (const end of ['kill', 'stop', 'kill'] as const) {
    await Promise.all([writers.more(30), readers.more(50)]);
    const old = primary;
    await (end === 'kill' ? old.kill() : old.stop('fast'));
    expected.push(lost(old));
    await readers.more(50);
    primary = await replication.failOver(standbys());
    expected.push(expect.stringMatching(found(primary)));
    await writers.more(30);
    await old.rejoin(primary);
    await expectReadsOnStandbys();
  }
  const reads = await readers.stop();
  const ids = await writers.stop();
  expect(reads).toBeGreaterThan(300);
  expect(new Set(ids).size).toBe(ids.length);
  expect(await ordersOn(primary)).toEqual(new Set(ids));
  const { data } = await send(gateway, PET());
  expect(data.pet.inventory.quantity).toBe(1_000_000 - ids.length);
  expect(linesAboutPrimary()).toEqual(expected);
});

it('rejects mutations at once while there is no primary, and answers queries', async () => {
  const written = await send(gateway, order('before'));
  await catchUp();
  await primary.kill();
  const mutations = [
    order('during'),
    `mutation { updatePet(id: "${petId}", input: { name: "Cleo" }) { ... on Pet { id } } }`,
    `mutation { adjustInventory(petId: "${petId}", by: -1) { ... on InventoryItem { id } } }`,
    'mutation { createCategory(input: { name: "Newts" }) { ... on Category { id } } }',
  ];
  // The gateway does not know of the crash yet.
  const first = await Promise.all(mutations.map((mutation) => send(gateway, mutation)));
  await expectLogged(lost(primary));
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

  const old = primary;
  primary = await replication.failOver(standbys());
  await expectLogged(found(primary));
  expect((await gateway.rest('/ready?for=writes')).status).toBe(200);
  const { data } = await send(gateway, order('during'));
  expect(await ordersOn(primary)).toEqual(
    new Set([written.data.placeOrder.id, data.placeOrder.id]),
  );
  expect(linesAboutPrimary()).toEqual([lost(old), expect.stringMatching(found(primary))]);
});

it('answers queries that a standby was asked for when it froze, though it may be the next primary', async () => {
  const [standby] = standbys() as [ReplicatedServer];
  const readers = read();
  await readers.more(50);
  standby.freeze();
  await expectLogged(`Reads do not use the replica ${nameOf(standby)}: it does not respond.`);
  await readers.more(50);
  await readers.stop();
  standby.thaw();
});

it('gives up what waits for a frozen primary when another server is promoted', async () => {
  const former = primary;
  const readers = read();
  const writers = startWriters(4);
  await Promise.all([readers.more(50), writers.more(30)]);
  former.freeze();
  await expectLogged(lost(former));
  primary = await replication.failOver(standbys().filter((server) => server !== former));
  await expectLogged(found(primary));
  await Promise.all([readers.more(50), writers.more(30)]);
  former.thaw();
  await expect.poll(() => runSql(former.urlOf(url), IS_CHECKED), WAIT).toHaveLength(1);
  await Promise.all([readers.more(50), writers.more(50)]);
  await readers.stop();
  const ids = await writers.stop();
  expect(await ordersOn(primary)).toEqual(new Set(ids));
  expect(linesAboutPrimary()).toEqual([lost(former), expect.stringMatching(found(primary))]);
});

it('finds the writable server at the start, wherever it is in the list', async () => {
  const [first, second, third] = replication.servers as [
    ReplicatedServer,
    ReplicatedServer,
    ReplicatedServer,
  ];
  await third.kill();
  for (const servers of [
    [first, second, third],
    [second, first, third],
    [third, second, first],
  ]) {
    const other = await startOn(servers);
    const { data } = await send(other, order(servers.map(({ name }) => name).join()));
    expect(data.placeOrder.id).toMatch(/^\d+$/);
    expect(await (await other.rest('/ready')).json()).toMatchObject({ writes: true });
    await other.close();
  }
});

it('names each server in the sentence of a start without a writable one', async () => {
  const [dead, ...others] = replication.servers as [ReplicatedServer, ...ReplicatedServer[]];
  await dead.kill();
  await expect(startOn([dead, ...others])).rejects.toThrow(
    new RegExp(
      `^DATABASE_URL: .*ECONNREFUSED ${nameOf(dead)}, ${others
        .map((server) => `${nameOf(server)} accepts no writes`)
        .join(', ')}\\.$`,
    ),
  );
});

it('writes nothing to a former primary that comes back and accepts writes', async () => {
  const former = primary;
  await former.kill();
  primary = await replication.failOver(standbys());
  await former.start();
  const rows = await ordersOn(former);
  await expect.poll(() => runSql(former.urlOf(url), IS_CHECKED), WAIT).toHaveLength(1);
  const writers = startWriters(4);
  await writers.more(200);
  // A gateway that starts now meets it first.
  const other = await startOn([
    former,
    ...standbys().filter((server) => server !== former),
    primary,
  ]);
  const { data } = await send(other, order('other'));
  await other.close();
  const ids = [...(await writers.stop()), data.placeOrder.id];
  expect(await ordersOn(former)).toEqual(rows);
  expect(await ordersOn(primary)).toEqual(new Set(ids));

  // Even when it is the only one.
  const [third] = standbys().filter((server) => server !== former);
  await primary.kill();
  await expectLogged(lost(primary));
  const rejected = await send(gateway, order('last'));
  expect([rejected.code, rejected.ms < 1000]).toEqual(['SERVICE_UNAVAILABLE', true]);
  expect((await send(gateway, PET())).data.pet.name).toBe('Cleo');
  primary = await replication.failOver([third as ReplicatedServer]);
  await former.rejoin(primary);
  await expect.poll(async () => (await send(gateway, order('last'))).code, WAIT).toBeUndefined();
  expect((await ordersOn(primary)).size).toBe(ids.length + 1);
});
