import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { makePet } from '../../support/make.ts';
import { createStoreOn, runSql } from '../../support/postgres.ts';
import {
  type ReplicatedGateway,
  send,
  startReplicatedGateway,
  WAIT,
} from '../../support/replicated-gateway.ts';
import {
  type ReplicatedServer,
  type Replication,
  startReplication,
} from '../../support/replication.ts';

const ignore = (): void => {};

/** One address in front of the servers, like HAProxy. */
interface Balancer {
  readonly port: number;
  /** Leads new connections to a server; the ones that exist stay where they are. */
  readonly leadTo: (server: ReplicatedServer) => void;
  /** Closes the connections that exist, like HAProxy with `on-marked-down shutdown-sessions`. */
  readonly closeConnections: () => void;
  readonly stop: () => void;
}

async function startBalancer(first: ReplicatedServer): Promise<Balancer> {
  let { port } = first;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    client.pipe(upstream).pipe(client);
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.on('error', ignore).on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const closeConnections = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    leadTo: (to) => {
      port = to.port;
    },
    closeConnections,
    stop: () => {
      server.close();
      closeConnections();
    },
  };
}

const POOL_SIZE = 5;

let replication: Replication;
/** The primary at the start, the replica that is promoted, and the one that follows it then. */
let former: ReplicatedServer;
let promoted: ReplicatedServer;
let follower: ReplicatedServer;
/** The URL of the database on the former primary. */
let url: string;
let balancer: Balancer;
let gateway: ReplicatedGateway;
let petId: string;

/** Sets the standby without which a server acknowledges no write; none if it is empty. */
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
    DATABASE_URL: asUser(url, balancer.port),
    DATABASE_REPLICA_URLS: replicas.map(({ port }) => asUser(url, port)).join(' '),
    POOL_SIZE: String(POOL_SIZE),
    STATEMENT_TIMEOUT_MS: '2000',
  });
  petId = await makePet(gateway, { stock: 1_000_000 });
  await promoted.waitUntilReplayed(await former.lsn());
  await follower.waitUntilReplayed(await former.lsn());
}

beforeEach(async () => {
  replication = await startReplication();
  [former, promoted, follower] = replication.servers as [
    ReplicatedServer,
    ReplicatedServer,
    ReplicatedServer,
  ];
  url = await createStoreOn(former.url);
  await setSynchronous(former, promoted.name);
  balancer = await startBalancer(former);
});
afterEach(async () => {
  // Each test checks what callers get; the log has the causes.
  gateway.loggedErrors.length = 0;
  await gateway.close();
  balancer.stop();
  await replication.stop();
});

/** Does what Patroni does, whether or not the former primary knows of it. */
async function promote(): Promise<void> {
  // In this order, as the one that follows must not have received more.
  await follower.cutOff();
  await promoted.cutOff();
  await promoted.promote();
  await follower.follow(promoted);
}

const order = (quantity: number, key: string): string =>
  `mutation { placeOrder(input: { petId: "${petId}", quantity: ${quantity} }, idempotencyKey: "${key}") {
    ... on Order { id } ... on Error { code } } }`;

/** Returns the ids of the orders that a server has, of all quantities or of one. */
async function ordersOn(server: ReplicatedServer, quantity?: number): Promise<Set<unknown>> {
  const where = quantity === undefined ? '' : `where quantity = ${quantity}`;
  const rows = await runSql(server.urlOf(url), `select id::text from orders ${where}`);
  return new Set(rows.map(({ id }) => id));
}

interface Writers {
  /** Waits until `count` more orders are acknowledged. */
  readonly more: (count: number) => Promise<void>;
  /** Returns the ids of the orders, one for each key. */
  readonly stop: () => Promise<string[]>;
}

// A statement is given up after STATEMENT_TIMEOUT_MS and a second, a server that does not respond after two
// seconds, and a new connection to it after five.
const MAX_MS = 8000;

/** Starts callers that each order a number of units, and repeat it with its key until it is acknowledged. */
function startWriters(concurrency: number, quantity: number): Writers {
  const ids: string[] = [];
  const faults: unknown[] = [];
  const end = new AbortController();
  const place = async (key: string): Promise<void> => {
    for (;;) {
      const { data, code, retryAfter, ms } = await send(gateway, order(quantity, key));
      if (ms > MAX_MS) faults.push(`A mutation took ${ms} ms.`);
      const id = data?.placeOrder?.id;
      if (id) return void ids.push(id);
      const mayRepeat =
        (code === 'SERVICE_UNAVAILABLE' && retryAfter === '1') || code === 'OUTCOME_UNKNOWN';
      if (!mayRepeat) faults.push({ code, retryAfter, data });
      await sleep(20);
    }
  };
  const placeAll = async (writer: number): Promise<void> => {
    for (let count = 0; !end.signal.aborted; count += 1) {
      await place(`${quantity}-${writer}-${count}`);
    }
  };
  const all = Array.from({ length: concurrency }, (_, writer) =>
    placeAll(writer).catch((error: unknown) => void faults.push(error)),
  );
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

/** Waits until the gateway has found the new primary. */
async function expectFound(): Promise<void> {
  const line = /^The primary is .* now, after \d+ ms without one\.$/;
  await expect.poll(() => gateway.messages, WAIT).toContainEqual(expect.stringMatching(line));
}

/** Returns the number of connections that the gateway has to the former primary. */
/** Counts the connections that can write: that for notifications of changes may stay, as changes are polled too. */
const connectionsToFormer = async (): Promise<number> => {
  const rows = await runSql(
    former.urlOf(url),
    `select from pg_stat_activity where application_name = 'pet-store-gateway'
       and datname = current_database() and query not like '%store_changes'`,
  );
  return rows.length;
};

/** Lets the gateway have connections to the former primary that are idle. */
async function fillPool(): Promise<void> {
  const rename = `mutation { updatePet(id: "${petId}", input: { name: "Cleo" }) { ... on Pet { id } } }`;
  const fill = async (): Promise<number> => {
    await Promise.all(Array.from({ length: 4 * POOL_SIZE }, () => send(gateway, rename)));
    return gateway.db.poolUse?.().idle ?? 0;
  };
  await expect.poll(fill, WAIT).toBe(POOL_SIZE);
}

/** What becomes of the former primary before the other one is promoted, and afterwards. */
const ENDS = {
  'was killed': { begin: () => former.kill(), end: () => former.start() },
  'was frozen and goes on': { begin: () => former.freeze(), end: () => former.thaw() },
  'always accepted writes': { begin: ignore, end: ignore },
};
type End = keyof typeof ENDS;
const ALL_ENDS = Object.keys(ENDS) as End[];

const REPLICAS = {
  'the replica that is promoted': () => promoted,
  'another replica': () => follower,
};

describe('one address that leads to another server after a failover', () => {
  const cases = ALL_ENDS.flatMap((end) =>
    (Object.keys(REPLICAS) as (keyof typeof REPLICAS)[]).map((replica) => [end, replica] as const),
  );
  it.each(cases)(
    'writes nothing to a former primary that %s, with %s in DATABASE_REPLICA_URLS',
    async (end, replica) => {
      await startOn([REPLICAS[replica]()]);
      await fillPool();
      const before = startWriters(2, 1);
      await before.more(30);
      await ENDS[end].begin();
      await promote();
      balancer.leadTo(promoted);
      await expectFound();

      await ENDS[end].end();
      // From now on the former primary would acknowledge writes alone.
      await setSynchronous(former, '');
      const after = startWriters(2 * POOL_SIZE, 2);
      await expect.poll(connectionsToFormer, WAIT).toBe(0);
      await Promise.all([before.more(50), after.more(200)]);
      expect(await connectionsToFormer()).toBe(0);
      const ids = [...(await before.stop()), ...(await after.stop())];
      expect(await ordersOn(promoted)).toEqual(new Set(ids));
      expect(await ordersOn(former, 2)).toEqual(new Set());
      expect((await gateway.rest('/ready?for=writes')).status).toBe(200);
    },
  );
});

it('finds the new primary behind one address by a new connection, if its role may not know timelines', async () => {
  // A member of the owner, but without the rights of a superuser.
  await runSql(former.url, `create role plain login password 'store' in role store`);
  await promoted.waitUntilReplayed(await former.lsn());
  await startOn([follower], 'plain');
  const before = startWriters(2, 1);
  await before.more(30);
  await promote();
  balancer.leadTo(promoted);
  // They need connections that the pool does not have yet.
  const after = startWriters(2 * POOL_SIZE, 2);
  await expectFound();
  await setSynchronous(former, '');
  await expect.poll(connectionsToFormer, WAIT).toBe(0);
  await Promise.all([before.more(50), after.more(50)]);
  const ids = [...(await before.stop()), ...(await after.stop())];
  expect(await ordersOn(promoted)).toEqual(new Set(ids));
});

describe('one address without DATABASE_REPLICA_URLS', () => {
  it.each(['was killed', 'was frozen and goes on'] as const)(
    'replaces connections to a former primary that %s',
    async (end) => {
      await startOn([]);
      await fillPool();
      const writers = startWriters(2, 1);
      await writers.more(30);
      await ENDS[end].begin();
      await promote();
      balancer.leadTo(promoted);
      await writers.more(100);
      const ids = await writers.stop();
      expect(await ordersOn(promoted)).toEqual(new Set(ids));
    },
  );

  it('writes nothing to a former primary after the balancer has closed its connections', async () => {
    await startOn([]);
    await fillPool();
    const before = startWriters(2, 1);
    await before.more(30);
    await promote();
    balancer.leadTo(promoted);
    balancer.closeConnections();
    await setSynchronous(former, '');
    const after = startWriters(2 * POOL_SIZE, 2);
    await Promise.all([before.more(50), after.more(200)]);
    const ids = [...(await before.stop()), ...(await after.stop())];
    expect(await ordersOn(promoted)).toEqual(new Set(ids));
    expect(await ordersOn(former, 2)).toEqual(new Set());
  });

  it('gives up each connection on which a former primary only reads', async () => {
    await startOn([]);
    await fillPool();
    const { data } = await send(gateway, order(1, 'before'));
    await runSql(former.url, 'alter system set default_transaction_read_only = on');
    await runSql(former.url, 'select pg_reload_conf()');
    await promote();
    balancer.leadTo(promoted);
    const answers = [];
    for (let count = 0; count < 2 * POOL_SIZE; count += 1) {
      answers.push(await send(gateway, order(2, `after-${count}`)));
    }
    // One for each connection of the pool.
    for (const { code, retryAfter } of answers.splice(0, POOL_SIZE)) {
      expect([code, retryAfter]).toEqual(['SERVICE_UNAVAILABLE', '1']);
    }
    expect(answers.map(({ code }) => code)).toEqual(answers.map(() => undefined));
    await expect.poll(connectionsToFormer, WAIT).toBe(0);
    const ids = [data, ...answers.map((answer) => answer.data)].map(
      ({ placeOrder }) => placeOrder.id,
    );
    expect(await ordersOn(promoted)).toEqual(new Set(ids));
  });
});
