import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { type Change, cursorOf } from '../../../src/gateway/changes/change-log.ts';
import { makeCategory, makePet } from '../../support/make.ts';
import { createStoreOn, runSql } from '../../support/postgres.ts';
import { startTcpProxy } from '../../support/proxies.ts';
import {
  expectLogged,
  type ReplicatedGateway,
  send,
  startReaders,
  startReplicatedGateway,
} from '../../support/replicated-gateway.ts';
import {
  type ReplicatedServer,
  type Replication,
  startReplication,
} from '../../support/replication.ts';

const HOUR = 3_600_000;

let replication: Replication;
let primary: ReplicatedServer;
let first: ReplicatedServer;
let second: ReplicatedServer;
/** The URL of the database on the primary. */
let url: string;
let gateway: ReplicatedGateway;
/** A gateway that reads from replicas however far they lag behind. */
let patient: ReplicatedGateway;
let petId: string;

/** Makes the description of each category the name of the server that it is read from. */
const TELL_SERVER = `
  alter table categories rename to kept_categories;
  create view categories as
    select id, name, current_setting('cluster_name')::varchar as description from kept_categories`;

const catchUp = () => Promise.all([first, second].map((standby) => standby.catchUp(primary)));

beforeAll(async () => {
  replication = await startReplication();
  [primary, first, second] = replication.servers;
  url = await createStoreOn(primary.url);
  await catchUp();
  const start = (maxLagMs: number): Promise<ReplicatedGateway> =>
    startReplicatedGateway({
      DATABASE_URL: url,
      DATABASE_REPLICA_URLS: `${first.urlOf(url)} ${second.urlOf(url)}`,
      REPLICA_MAX_LAG_MS: String(maxLagMs),
    });
  [gateway, patient] = await Promise.all([start(1000), start(HOUR)]);
  petId = await makePet(gateway, { categoryId: await makeCategory(gateway), stock: 1_000_000 });
  await runSql(url, TELL_SERVER);
});
afterAll(async () => {
  try {
    await Promise.all([gateway.close(), patient.close()]);
  } finally {
    await replication.stop();
  }
});

const asked = ({ port }: ReplicatedServer): string => `Replica 127.0.0.1:${port} now serves reads.`;
const notAsked = ({ port }: ReplicatedServer, why: string): string =>
  `Replica 127.0.0.1:${port} no longer serves reads: ${why}.`;

/**
 * Why a lost replica no longer serves reads. PostgreSQL also writes to its log without callers, so a frozen replica may
 * be too far behind before its check times out.
 */
const LOST = /it does not respond|it is too far behind/;

/** Returns the log messages about a replica. */
const linesAbout = (server: ReplicatedServer): string[] =>
  gateway.messages.filter((line) => line.startsWith(`Replica 127.0.0.1:${server.port} `));

/** Whether the last log message about a replica says that it is too far behind to serve reads. */
const isBehind = (server: ReplicatedServer): boolean =>
  linesAbout(server).at(-1) === notAsked(server, 'it is too far behind');

/** Returns the names of the servers that serve many concurrent queries; equal queries could share one statement. */
async function serversOf(target = gateway, position: string | null = null): Promise<Set<string>> {
  const queries = Array.from(
    { length: 40 },
    (_, index) => `{ categories { nodes { description name${index}: name } } }`,
  );
  return new Set(await Promise.all(queries.map((query) => serverOf({ target, query, position }))));
}

async function expectBothAsked(): Promise<void> {
  await expect.poll(() => serversOf()).toEqual(new Set([first.name, second.name]));
}

// Each test starts with two replicas that serve reads.
beforeEach(async () => {
  await catchUp();
  await expectBothAsked();
  gateway.messages.length = 0;
});

const SERVER = '{ categories { nodes { description } } }';

/** Returns the name of the server that serves a query. */
async function serverOf({
  target = gateway,
  query = SERVER,
  position,
}: {
  target?: ReplicatedGateway;
  query?: string;
  position?: string | null;
} = {}): Promise<string> {
  const { data } = await send(target, query, position);
  return data.categories.nodes[0].description;
}

const rename = (
  name: string,
): string => `mutation { updatePet(id: "${petId}", input: { name: "${name}" }) {
  ... on Pet { name category { description } inventory { pet { name } } } } }`;
const PET = (): string => `{ pet(id: "${petId}") { name } }`;
const takeOne = (): string =>
  `mutation { adjustInventory(petId: "${petId}", by: -1) { ... on InventoryItem { quantity } } }`;
const STOCK = (): string => `{ inventoryItem(petId: "${petId}") { quantity } }`;

const READERS = { concurrency: 20, path: '/store/orders?limit=1' };

/** Makes each query of orders sleep for a minute on the first replica while the table `sleepers` names that replica. */
const SLOW_ON_FIRST = `
  create table sleepers (server text);
  insert into sleepers values ('server2');
  alter table orders rename to kept_orders;
  create function sleep_on_one() returns boolean volatile language sql as $$
    select pg_sleep(case when exists (
      select from sleepers where server = current_setting('cluster_name')
    ) then 60 else 0 end) is not null $$;
  create view orders as select kept_orders.* from kept_orders, sleep_on_one() where sleep_on_one`;

/** Runs `work` while both replicas replay each transaction with a delay. */
async function whileBehind<Result>(ms: number, work: () => Promise<Result>): Promise<Result> {
  await Promise.all([first.setDelay(ms), second.setDelay(ms)]);
  try {
    return await work();
  } finally {
    await Promise.all([first.setDelay(0), second.setDelay(0)]);
  }
}

/** Writes until a condition holds. */
async function writeUntil(isDone: () => boolean): Promise<void> {
  const write = async (): Promise<boolean> => {
    await send(gateway, takeOne());
    return isDone();
  };
  await expect.poll(write).toBe(true);
}

async function nameByRest(position?: string | null): Promise<unknown> {
  const headers = position == null ? {} : { 'Store-Position': position };
  const response = await patient.rest(`/pets/${petId}`, { headers });
  return ((await response.json()) as { name: unknown }).name;
}

describe('a gateway with two replicas', () => {
  it('sends queries to both replicas, runs mutations entirely on the primary, and returns a position only after a mutation', async () => {
    const { data, position } = await send(gateway, rename('Cleo'));
    expect(data.updatePet.category.description).toBe(primary.name);
    expect(position).toMatch(/^[\da-f]{16}$/);
    expect(await serversOf()).toEqual(new Set([first.name, second.name]));
    expect((await send(gateway, PET(), position)).position).toBeNull();
  });

  it('lets a request with the position of a write see that write on a replica', async () => {
    let stale = 0;
    const check = async (): Promise<void> => {
      for (let count = 0; count < 100; count += 1) {
        const written = await send(gateway, takeOne());
        const { quantity } = written.data.adjustInventory;
        const { data } = await send(gateway, STOCK(), written.position);
        // The other callers take units too.
        if (data.inventoryItem.quantity > quantity) stale += 1;
      }
    };
    await Promise.all(Array.from({ length: 5 }, check));
    expect(stale).toBe(0);
    const written = await send(gateway, rename('Cleo'));
    await catchUp();
    expect([first.name, second.name]).toContain(await serverOf({ position: written.position }));
  });

  it("waits for a replica that is slightly behind a request's position", async () => {
    const servers = await whileBehind(30, async () => {
      const names = [];
      for (let count = 0; count < 20; count += 1) {
        const { position } = await send(gateway, takeOne());
        names.push(await serverOf({ position }));
      }
      return names;
    });
    // On a busy machine, some requests wait for 100 ms, and are then served by the primary.
    expect(servers.filter((name) => name !== primary.name).length).toBeGreaterThan(10);
  });

  it.each(['', '0/15E0F28', '0000000005475de0, 0000000005475de0'])(
    'rejects a malformed position: %j',
    async (position) => {
      const { status, code } = await send(gateway, PET(), position);
      expect([status, code]).toEqual([400, 'BAD_REQUEST']);
      for (const path of [`/pets/${petId}`, '/store/orders']) {
        const response = await gateway.rest(path, { headers: { 'Store-Position': position } });
        expect(response.status).toBe(400);
        expect(await response.json()).toMatchObject({ code: 'BAD_REQUEST' });
      }
    },
  );

  it('lets the primary serve a request with a position that no server has reached, within a second', async () => {
    const future = 'f'.repeat(16);
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => send(gateway, SERVER, future)),
    );
    for (const { data, ms } of answers) {
      expect(data.categories.nodes[0].description).toBe(primary.name);
      expect(ms).toBeLessThan(1000);
    }
  });
});

describe('a gateway whose replicas are both far behind', () => {
  it('shows a write only to requests with the position of that write', async () => {
    const old = await send(patient, rename('Old'));
    await catchUp();
    await whileBehind(HOUR, async () => {
      const { data, position } = await send(patient, rename('New'));
      expect(data.updatePet).toMatchObject({ name: 'New', inventory: { pet: { name: 'New' } } });
      const seen = await send(patient, PET(), position);
      expect(seen.data.pet.name).toBe('New');
      expect(seen.ms).toBeLessThan(1000);
      expect(await nameByRest(position)).toBe('New');
      for (const earlier of [undefined, old.position]) {
        expect((await send(patient, PET(), earlier)).data.pet.name).toBe('Old');
        expect(await nameByRest(earlier)).toBe('Old');
      }
    });
  });

  it('reads the changes after a cursor from the primary if no replica has that cursor', async () => {
    await whileBehind(HOUR, async () => {
      const { position } = await send(patient, rename('Newer'));
      const last = await send(patient, '{ changes(last: 1) { edges { cursor } } }', position);
      const [{ cursor }] = last.data.changes.edges;
      await send(patient, rename('Newest'));
      const after = `{ changes(after: "${cursor}") { nodes { ... on PetChange { after { name } } } } }`;
      expect((await send(patient, after)).data.changes.nodes).toEqual([
        { after: { name: 'Newest' } },
      ]);
      const gone = cursorOf({ transaction: 1n, id: 1n, changedAt: new Date(0) } as Change);
      const { code } = await send(patient, after.replace(cursor, gone));
      expect(code).toBe('CURSOR_EXPIRED');
    });
  });

  it('reads from the primary once their lag exceeds REPLICA_MAX_LAG_MS', async () => {
    await whileBehind(HOUR, async () => {
      await writeUntil(() => isBehind(first) && isBehind(second));
      expect(await serverOf()).toBe(primary.name);
      await send(gateway, rename('Now'));
      expect((await send(gateway, PET())).data.pet.name).toBe('Now');
    });
    await Promise.all([first, second].map((server) => expectLogged(gateway, asked(server))));
    for (const server of [first, second]) {
      const lines = [notAsked(server, 'it is too far behind'), asked(server)];
      expect(linesAbout(server).slice(-2)).toEqual(lines);
    }
  });
});

describe('replicas behind a load balancer', () => {
  it('do not serve requests with a position once connections lead to several servers', async () => {
    const balancer = await startTcpProxy([first.url]);
    const address = new URL(first.urlOf(url));
    address.port = new URL(balancer.url).port;
    const balanced = await startReplicatedGateway({
      DATABASE_URL: url,
      DATABASE_REPLICA_URLS: address.href,
    });
    try {
      const { position } = await send(balanced, takeOne());
      await catchUp();
      await expect.poll(() => serversOf(balanced, position)).toEqual(new Set([first.name]));
      balancer.cutAll();
      balancer.targets = [second.url];
      await expect.poll(() => serverOf({ target: balanced })).toBe(second.name);
      balancer.targets = [first.url];
      await expect.poll(() => serversOf(balanced)).toEqual(new Set([first.name, second.name]));
      expect(await serversOf(balanced, position)).toEqual(new Set([primary.name]));
    } finally {
      await balanced.close();
      await balancer.close();
    }
  });
});

it('a query that a replica cancels because a vacuum removed its rows is retried on another server', async () => {
  await runSql(url, `insert into orders (pet_id, quantity) values (${petId}, 1)`);
  await runSql(url, SLOW_ON_FIRST);
  await catchUp();
  const sleepers = `select from pg_stat_activity where wait_event = 'PgSleep'`;
  const query = '{ orders(first: 1) { nodes { id } } }';
  const reads: Promise<unknown>[] = [];
  const read = async (): Promise<number> => {
    reads.push(gateway.data(query));
    return (await runSql(first.urlOf(url), sleepers)).length;
  };
  await expect.poll(read).toBeGreaterThan(0);
  const start = performance.now();
  await runSql(url, 'delete from sleepers');
  await runSql(url, 'vacuum sleepers');
  await Promise.all(reads);
  // Without the conflict, the statement timeout would have cancelled the query.
  expect(performance.now() - start).toBeLessThan(8000);
  await runSql(url, 'drop view orders; alter table kept_orders rename to orders');
  expect(gateway.messages).toEqual([]);
});

describe('a replica that fails', () => {
  it.each<[string, () => Promise<void> | void, () => Promise<void> | void]>([
    ['freezes', () => first.freeze(), () => first.thaw()],
    ['is killed', () => first.kill(), () => first.start()],
    ['is stopped', () => first.stop(), () => first.start()],
  ])('has its queries served by another server when it %s', async (_what, begin, end) => {
    const readers = startReaders(gateway, SERVER, READERS);
    try {
      await readers.more(100);
      await begin();
      await expect.poll(() => linesAbout(first)).toEqual([expect.stringMatching(LOST)]);
      await readers.more(100);
      expect(await serversOf()).not.toContain(first.name);
      // No read has failed, not even a query that was already sent to the failed replica.
      await readers.stop();
    } finally {
      await end();
    }
    await expectLogged(gateway, asked(first));
    await expectBothAsked();
    expect(linesAbout(first)).toEqual([expect.stringMatching(LOST), asked(first)]);
  });

  it('has its queries served by the primary if the other replica fails too', async () => {
    const readers = startReaders(gateway, SERVER, READERS);
    await readers.more(100);
    await Promise.all([first.kill(), second.kill()]);
    try {
      await readers.more(100);
      expect(await serverOf()).toBe(primary.name);
      const ready = await gateway.rest('/ready?for=writes');
      expect(await ready.json()).toEqual({ status: 'ready', writes: true });
      expect((await send(gateway, takeOne())).position).not.toBeNull();
    } finally {
      await Promise.all([first.start(), second.start()]);
    }
    await readers.stop();
  });

  it('is replaced by another server for the rest of a response to GET /store/orders', async () => {
    const [{ count } = {}] = await runSql(
      url,
      `insert into orders (pet_id, quantity) select ${petId}, 1 from generate_series(1, 50000);
       select count(*)::int from orders`,
    );
    await catchUp();
    const response = await fetch(`${gateway.url}/store/orders`);
    gateway.statements.length = 0;
    await first.kill();
    const killed = gateway.statements.length;
    const orders = (await response.json()) as { id: number }[];
    expect(gateway.statements.length).toBeGreaterThan(killed);
    expect(new Set(orders.map(({ id }) => id)).size).toBe(count);
    expect(orders).toHaveLength(count as number);
    await expectLogged(gateway, notAsked(first, 'it does not respond'));
    await first.start();
  });
});
