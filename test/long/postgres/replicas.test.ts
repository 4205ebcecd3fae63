import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { makeCategory, makePet } from '../../support/make.ts';
import { callTool, connectClient } from '../../support/mcp.ts';
import { createStoreOn, runSql } from '../../support/postgres.ts';
import { type Proxy, startTcpProxy, through } from '../../support/proxies.ts';
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
/** What DATABASE_REPLICA_URL leads to: the first replica that accepts a connection. */
let balancer: Proxy;
let gateway: ReplicatedGateway;
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
  balancer = await startTcpProxy([first.url, second.url]);
  gateway = await startReplicatedGateway({
    DATABASE_URL: url,
    DATABASE_REPLICA_URL: through(balancer, url),
    MCP_OPERATIONS: 'src/store/tools',
  });
  petId = await makePet(gateway, { categoryId: await makeCategory(gateway), stock: 1_000_000 });
  await runSql(url, TELL_SERVER);
});
afterAll(async () => {
  try {
    await gateway.close();
    await balancer.close();
  } finally {
    await replication.stop();
  }
});

const LOST = /^Lost the replica 127\.0\.0\.1:\d+: .+\.$/;
const BACK = /^The replica 127\.0\.0\.1:\d+ responds again, after \d+ ms\.$/;

const SERVER = '{ categories { nodes { description } } }';

/** Returns the name of the server that serves a query. */
async function serverOf(query = SERVER, position?: string | null): Promise<string> {
  const { data } = await send(gateway, query, position);
  return data.categories.nodes[0].description;
}

async function expectFirstServes(): Promise<void> {
  await expect.poll(() => serverOf()).toBe(first.name);
}

// Each test starts with replicas that serve reads.
beforeEach(async () => {
  await catchUp();
  await expectFirstServes();
  gateway.messages.length = 0;
});

const rename = (name: string): string => `mutation {
  updatePet(id: "${petId}", input: { name: "${name}" }) { ... on Pet { inventory { pet { name } } } } }`;
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

async function nameByRest(position?: string | null): Promise<unknown> {
  const headers = position == null ? {} : { 'Store-Position': position };
  const response = await gateway.rest(`/pets/${petId}`, { headers });
  return ((await response.json()) as { name: unknown }).name;
}

describe('a gateway with replicas', () => {
  it('lets each request with the position of a write see that write, under load', async () => {
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
  });

  it('shows a write only to requests with a position while the replicas are far behind', async () => {
    await send(gateway, rename('Old'));
    await catchUp();
    await Promise.all([first.setDelay(HOUR), second.setDelay(HOUR)]);
    const { data, position } = await send(gateway, rename('New'));
    expect(data.updatePet.inventory.pet.name).toBe('New');
    expect((await send(gateway, PET(), position)).data.pet.name).toBe('New');
    expect(await nameByRest(position)).toBe('New');
    expect((await send(gateway, PET())).data.pet.name).toBe('Old');
    expect(await nameByRest()).toBe('Old');
    const positions = new Set<string | null>();
    const tools = await connectClient(gateway, {
      fetch: async (...request) => {
        const response = await fetch(...request);
        positions.add(response.headers.get('store-position'));
        return response;
      },
    });
    expect((await callTool(tools, 'pet', { id: petId })).data.pet.name).toBe('New');
    expect([...positions]).toEqual([null]);
    await Promise.all([first.setDelay(0), second.setDelay(0)]);
  });
});

it('a query that a replica cancels because a vacuum removed its rows is repeated on the primary', async () => {
  await runSql(url, `insert into orders (pet_id, quantity) values (${petId}, 1)`);
  await runSql(url, SLOW_ON_FIRST);
  await catchUp();
  const sleepers = `select from pg_stat_activity where wait_event = 'PgSleep'`;
  const read = gateway.data('{ orders(first: 1) { nodes { id } } }');
  await expect.poll(() => runSql(first.urlOf(url), sleepers)).toHaveLength(1);
  const start = performance.now();
  await runSql(url, 'delete from sleepers');
  await runSql(url, 'vacuum sleepers');
  await read;
  // Without the conflict, the statement timeout would have cancelled the query.
  expect(performance.now() - start).toBeLessThan(8000);
  await runSql(url, 'drop view orders; alter table kept_orders rename to orders');
  expect(gateway.messages).toEqual([]);
});

describe('replicas that fail', () => {
  it.each<[string, () => Promise<void> | void, () => Promise<void> | void]>([
    ['freezes', () => first.freeze(), () => first.thaw()],
    ['is killed', () => first.kill(), () => first.start()],
    ['is stopped', () => first.stop(), () => first.start()],
  ])('have their reads served by another server when one %s', async (what, begin, end) => {
    const readers = startReaders(gateway, SERVER, READERS);
    try {
      await readers.more(100);
      await begin();
      // A frozen server still accepts connections.
      if (what === 'freezes') await expectLogged(gateway, LOST);
      await readers.more(100);
      await expect.poll(() => serverOf()).toBe(what === 'freezes' ? primary.name : second.name);
      // No read has failed, not even a query that was already sent to the failed replica.
      await readers.stop();
    } finally {
      await end();
    }
    if (what === 'freezes') await expectLogged(gateway, BACK);
    // New connections lead to the first replica again.
    balancer.cutAll();
  });

  it('have their reads served by the primary, which still accepts writes, when all are killed', async () => {
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
    await expectLogged(gateway, BACK);
  });

  it('are replaced by another server for the rest of a response to GET /store/orders', async () => {
    const [{ count } = {}] = await runSql(
      url,
      `insert into orders (pet_id, quantity) select ${petId}, 1 from generate_series(1, 50000);
       select count(*)::int from orders`,
    );
    await catchUp();
    const response = await fetch(`${gateway.url}/store/orders`);
    gateway.statements.length = 0;
    await Promise.all([first.kill(), second.kill()]);
    const killed = gateway.statements.length;
    const orders = (await response.json()) as { id: number }[];
    expect(gateway.statements.length).toBeGreaterThan(killed);
    expect(new Set(orders.map(({ id }) => id)).size).toBe(count);
    expect(orders).toHaveLength(count as number);
    await Promise.all([first.start(), second.start()]);
  });
});
