import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { TABLES } from '../../../src/store/generated/tables.ts';
import { useProgramStore } from '../../support/databases.ts';
import { openEvents, subscriptionTo, openInitialized } from '../../support/live.ts';
import { makePet } from '../../support/make.ts';
import { callTool, connectClient } from '../../support/mcp.ts';
import { readMetrics, sumOf } from '../../support/metrics.ts';
import { post, TIMES_UNTIL_COMPILED } from '../../support/post.ts';
import { countLockWaits, holdLock, runSql } from '../../support/postgres.ts';
import { type Proxy, startTcpProxy, through } from '../../support/proxies.ts';
import {
  expectLogged,
  type ReplicatedGateway,
  send,
  startReplicatedGateway,
} from '../../support/replicated-gateway.ts';
import { untilSettled } from '../../support/settled.ts';

const REPLICA = 'From the replica';
const COLUMNS = Object.values(TABLES.Pet.columns).map(({ ownColumn }) =>
  ownColumn === 'name' ? `'${REPLICA}'::varchar as name` : ownColumn,
);

/**
 * Plays a replica that is behind, on the server of the primary: sessions with this schema read these tables. As on the
 * readers of Amazon Aurora, there is no replay position.
 */
const PLAY_REPLICA = `
  create schema replica;
  create function replica.pg_is_in_recovery() returns boolean return true;
  create function replica.pg_last_wal_replay_lsn() returns pg_lsn return null::pg_lsn;
  create table replica.gate as select 1 as open;
  create view replica.pets as
    select ${COLUMNS.join()} from public.pets, replica.gate;
  create view replica.changes as select * from public.changes where false;
  create table replica._prisma_migrations as table public._prisma_migrations`;
const SEARCH_PATH = 'options=-csearch_path%3Dreplica,pg_catalog,public';

const database = useProgramStore();
let balancer: Proxy;
let gateway: ReplicatedGateway;
let petId: string;

const startOn = (environment: Record<string, string>): Promise<ReplicatedGateway> =>
  startReplicatedGateway({ DATABASE_URL: database.url, ...environment });

beforeAll(async () => {
  await runSql(database.url, PLAY_REPLICA);
  balancer = await startTcpProxy([database.url]);
});
beforeEach(async () => {
  balancer.targets = [database.url];
  gateway = await startOn({
    DATABASE_REPLICA_URL: `${through(balancer, database.url)}?${SEARCH_PATH}`,
    MCP_OPERATIONS: 'src/store/tools',
  });
  petId = await makePet(gateway, { stock: 10 });
});
afterEach(() => gateway.close());
afterAll(() => balancer.close());

const PET = (): string => `{ pet(id: "${petId}") { name } }`;
const RENAME = (name = 'Cleo'): string => `mutation {
  updatePet(id: "${petId}", input: { name: "${name}" }) { ... on Pet { inventory { pet { name } } } } }`;

const nameOf = async (position?: string | null): Promise<unknown> =>
  (await send(gateway, PET(), position)).data.pet?.name;

async function nameByRest(headers: Record<string, string> = {}): Promise<unknown> {
  const response = await gateway.rest(`/pets/${petId}`, { headers });
  return ((await response.json()) as { name: unknown }).name;
}

/** Returns the name that GraphQL and REST read. */
const names = (): Promise<unknown[]> => Promise.all([nameOf(), nameByRest()]);
const ON_PRIMARY = ['Cleo', 'Cleo'];

const replicaUp = async (): Promise<number> =>
  sumOf(await readMetrics(gateway), 'database_replica_up');

/** Waits until the gateway knows that its replica does not respond. */
async function loseReplica(): Promise<void> {
  balancer.targets = [];
  balancer.cutAll();
  await expectLogged(gateway, /^Lost the replica 127\.0\.0\.1:\d+: .+\.$/);
}

describe('a replica', () => {
  it('serves queries, compiled or not, and REST, even if it has no replay position', async () => {
    for (let count = 0; count <= 2 * TIMES_UNTIL_COMPILED; count += 1) {
      // Explained or not.
      const headers = { 'graphql-explain': 'report' };
      const options = count % 2 === 1 ? { headers } : {};
      const response = await post(gateway, { query: PET() }, options);
      expect(await response.json()).toMatchObject({ data: { pet: { name: REPLICA } } });
    }
    expect(await nameByRest()).toBe(REPLICA);
    expect(await replicaUp()).toBe(1);
  });

  it('serves neither mutations nor what they select, nor the tools of /mcp, nor WebSockets', async () => {
    const { data } = await send(gateway, RENAME('Now'));
    expect(data.updatePet.inventory.pet.name).toBe('Now');
    const tools = await connectClient(gateway);
    expect((await callTool(tools, 'pet', { id: petId })).data.pet.name).toBe('Now');
    const opened = await openInitialized(gateway);
    opened.send({ type: 'subscribe', id: '1', payload: { query: PET() } });
    expect((await opened.message())['payload']).toEqual({ data: { pet: { name: 'Now' } } });
    opened.socket.close();
  });

  it('serves neither the change log nor what a query selects with it', async () => {
    await untilSettled(gateway.db);
    const { data, position } = await send(
      gateway,
      `{ ...Log pet(id: "${petId}") { name } }
       fragment Log on Query { changes(last: 1) { nodes { ... on InventoryItemChange { petId } } } }`,
    );
    expect(data).toEqual({ changes: { nodes: [{ petId }] }, pet: { name: 'Cleo' } });
    expect(await nameOf(position)).toBe('Cleo');
  });

  it('does not serve the results of subscriptions', async () => {
    const { query, variables } = await subscriptionTo(gateway);
    const pets = query.replace(
      /\{ categoryChanged.*/,
      '{ petChanged(after: $after) { pet { name } } }',
    );
    const events = await openEvents(gateway, pets, { variables });
    await send(gateway, RENAME('Now'));
    expect(await events.data()).toEqual({ petChanged: { pet: { name: 'Now' } } });
    events.disconnect();
  });
});

describe('a mutation', () => {
  it('returns a Store-Position, with which later requests do not read from the replica', async () => {
    const { position } = await send(gateway, RENAME());
    expect(position).toMatch(/^[\da-f]{16}$/);
    expect(await nameOf()).toBe(REPLICA);
    expect(await nameOf(position)).toBe('Cleo');
    expect(await nameByRest({ 'Store-Position': position ?? '' })).toBe('Cleo');
    const later = await send(gateway, RENAME());
    expect((later.position ?? '') >= (position ?? '')).toBe(true);
  });

  it.each(['', '0000000005475de0', '0/15E0F28', 'ffffffffffffffff, ffffffffffffffff'])(
    'is seen with any other position too, such as one from an earlier release: %j',
    async (position) => {
      expect(await nameOf(position)).toBe('Cleo');
      expect(await nameByRest({ 'Store-Position': position })).toBe('Cleo');
    },
  );

  it('returns a position even if it took too long, because the caller has to check what was written', async () => {
    const hasty = await startOn({
      DATABASE_REPLICA_URL: `${through(balancer, database.url)}?${SEARCH_PATH}`,
      RESPONSE_TIMEOUT_MS: '100',
    });
    const release = await holdLock(database.url, `select from pets where id = ${petId} for update`);
    const { position, code } = await send(hasty, RENAME());
    await release();
    expect(code).toBe('OUTCOME_UNKNOWN');
    expect(position).toMatch(/^[\da-f]{16}$/);
    expect(hasty.loggedErrors.splice(0)).toHaveLength(1);
    await hasty.close();
  });

  it('returns no position without a replica, and neither does a query', async () => {
    expect((await send(gateway, PET())).position).toBeNull();
    const single = await startOn({});
    expect((await send(single, RENAME())).position).toBeNull();
    expect((await send(single, PET(), '')).data.pet.name).toBe('Cleo');
    await single.close();
  });
});

describe('a replica that does not respond', () => {
  it('has its reads served by the primary, is logged and measured, and is used again once it responds', async () => {
    await loseReplica();
    expect(await names()).toEqual(ON_PRIMARY);
    expect(await replicaUp()).toBe(0);
    balancer.targets = [database.url];
    await expectLogged(gateway, /^The replica 127\.0\.0\.1:\d+ responds again, after \d+ ms\.$/);
    expect(await nameOf()).toBe(REPLICA);
    expect(gateway.messages).toHaveLength(2);
    expect(await replicaUp()).toBe(1);
  });

  it('has the reads that were already sent to it repeated on the primary', async () => {
    const open = await holdLock(database.url, 'lock table replica.gate');
    const reads = names();
    // The reads may share a statement.
    await expect.poll(() => countLockWaits(database.url)).toBeGreaterThan(0);
    await loseReplica();
    expect(await reads).toEqual(ON_PRIMARY);
    await open();
  });

  it('has a read repeated on the primary that it cancels, as it does if a vacuum removed its rows', async () => {
    await runSql(
      database.url,
      `create function replica.cancel() returns boolean language plpgsql as
         $$ begin raise 'conflict with recovery' using errcode = '40001'; end $$;
       alter view replica.pets rename to kept;
       create view replica.pets as select * from replica.kept where replica.cancel()`,
    );
    expect(await names()).toEqual(ON_PRIMARY);
    await runSql(
      database.url,
      'drop function replica.cancel cascade; alter view replica.kept rename to pets',
    );
    expect(gateway.messages).toEqual([]);
  });

  it('does not keep a gateway from starting', async () => {
    const other = await startOn({ DATABASE_REPLICA_URL: 'postgresql://127.0.0.1:1/store' });
    await expectLogged(other, /^Lost the replica 127\.0\.0\.1:1: connect ECONNREFUSED/);
    expect((await send(other, PET())).data.pet.name).toBe('Cleo');
    await other.close();
  });
});

const restoreMigrations = () =>
  runSql(
    database.url,
    `truncate replica._prisma_migrations;
     insert into replica._prisma_migrations table public._prisma_migrations`,
  );

describe('a replica with other migrations', () => {
  const LAST = `migration_name = (select max(migration_name) from public._prisma_migrations)`;
  afterEach(restoreMigrations);

  const LACKS = /: it lacks the migration \d+_\w+ of DATABASE_URL\.$/;
  const IS_OTHER =
    /: it is not a replica of DATABASE_URL, where \d+_\w+ was applied at another time\.$/;

  it.each([
    ['lacks the last one', `delete from MIGRATIONS where ${LAST}`, LACKS],
    [
      'has not finished the last one',
      `update MIGRATIONS set finished_at = null where ${LAST}`,
      LACKS,
    ],
    [
      'belongs to another store',
      `update MIGRATIONS set started_at = started_at - interval '1 ms'`,
      IS_OTHER,
    ],
  ])(
    'is not used while it %s, which is logged once and measured',
    async (_what, change, reason) => {
      await runSql(database.url, change.replace('MIGRATIONS', 'replica._prisma_migrations'));
      balancer.cutAll();
      // If the gateway was just checking the replica, it has logged before that the connection was lost.
      await expectLogged(gateway, reason);
      expect(await names()).toEqual(ON_PRIMARY);
      expect(await replicaUp()).toBe(0);
      await restoreMigrations();
      await expectLogged(gateway, /^The replica 127\.0\.0\.1:\d+ responds again/);
      expect(await nameOf()).toBe(REPLICA);
      expect(await replicaUp()).toBe(1);
      expect(gateway.messages.filter((message) => reason.test(message))).toHaveLength(1);
    },
  );

  it('is named in the log although it was lost before for another reason', async () => {
    await loseReplica();
    await runSql(database.url, `delete from replica._prisma_migrations where ${LAST}`);
    balancer.targets = [database.url];
    await expectLogged(gateway, /^Lost the replica .+: it lacks the migration \d+_\w+ of/);
    expect(gateway.messages).toHaveLength(2);
  });

  it('is named in the log once if the connections of reads reach it, but not that of the check', async () => {
    const checks = () =>
      runSql(
        database.url,
        `select from pg_stat_activity where query = 'SELECT' and datname = current_database()`,
      );
    await expect.poll(checks).toHaveLength(1);
    await runSql(database.url, `delete from replica._prisma_migrations where ${LAST}`);
    expect(await names()).toEqual(ON_PRIMARY);
    expect(gateway.messages).toEqual([
      expect.stringMatching(
        /^A server at the replica's address 127\.0\.0\.1:\d+ is not used: it lacks the migration \d+_\w+ of /,
      ),
    ]);
    await restoreMigrations();
    expect(await nameOf()).toBe(REPLICA);
  });

  it('is used if the others are those of a later release', async () => {
    await runSql(
      database.url,
      `insert into replica._prisma_migrations
       select 'x', checksum, finished_at, '20991231000000_later', logs, rolled_back_at, now(), 1
       from public._prisma_migrations limit 1`,
    );
    balancer.cutAll();
    await expect.poll(nameOf).toBe(REPLICA);
  });

  it('does not serve the first reads, before it was checked', async () => {
    const empty = Object.assign(new URL(database.url), { pathname: '/postgres' }).href;
    const other = await startOn({ DATABASE_REPLICA_URL: empty });
    expect((await send(other, PET())).data.pet.name).toBe('Cleo');
    await expectLogged(other, /^Lost the replica .+: it lacks the migration \d+_pet_store of/);
    await other.close();
  });
});

describe('a gateway whose primary does not respond', () => {
  let primary: Proxy;
  beforeEach(async () => {
    await gateway.close();
    primary = await startTcpProxy([database.url]);
    gateway = await startOn({
      DATABASE_URL: through(primary, database.url),
      DATABASE_REPLICA_URL: `${through(balancer, database.url)}?${SEARCH_PATH}`,
    });
  });
  afterEach(() => primary.close());

  it('serves queries, rejects mutations and reads with a position, and is ready, but not for writes', async () => {
    const written = await send(gateway, RENAME());
    primary.targets = [];
    primary.cutAll();
    const ready = await gateway.rest('/ready');
    expect([ready.status, await ready.json()]).toEqual([200, { status: 'ready', writes: false }]);
    expect((await gateway.rest('/ready?for=writes')).status).toBe(503);
    expect(await nameOf()).toBe(REPLICA);
    for (const [query, position] of [
      [RENAME(), undefined],
      [PET(), written.position],
    ]) {
      const failed = await send(gateway, query ?? '', position);
      expect([failed.code, failed.retryAfter]).toEqual(['SERVICE_UNAVAILABLE', '1']);
      // With a position, later reads would fail too, although the replica serves them.
      expect(failed.position).toBeNull();
    }
    gateway.loggedErrors.length = 0;
    primary.targets = [database.url];
    await expect.poll(() => nameOf(written.position)).toBe('Cleo');
    expect((await gateway.rest('/ready?for=writes')).status).toBe(200);
    gateway.loggedErrors.length = 0;
  });

  it('repeats a read whose connection to a replica is lost on another replica', async () => {
    primary.targets = [];
    primary.cutAll();
    const open = await holdLock(database.url, 'lock table replica.gate');
    const read = nameOf();
    await expect.poll(() => countLockWaits(database.url)).toBe(1);
    balancer.cutAll();
    await open();
    expect(await read).toBe(REPLICA);
    gateway.loggedErrors.length = 0;
  });

  it('is not ready if its replica does not respond either', async () => {
    await gateway.close();
    gateway = await startOn({
      DATABASE_URL: through(primary, database.url),
      DATABASE_REPLICA_URL: 'postgresql://127.0.0.1:1/store',
    });
    await expectLogged(gateway, /^Lost the replica/);
    expect((await gateway.rest('/ready')).status).toBe(200);
    primary.targets = [];
    primary.cutAll();
    expect((await gateway.rest('/ready')).status).toBe(503);
    gateway.loggedErrors.length = 0;
  });
});

it('a gateway does not start if DATABASE_URL leads to a standby', async () => {
  const opened = startOn({ DATABASE_URL: `${database.url}?${SEARCH_PATH}` });
  const { host } = new URL(database.url);
  await expect(opened).rejects.toThrow(
    `DATABASE_URL: ${host} leads to a standby, which accepts no writes.`,
  );
});
