import { setTimeout as sleep } from 'node:timers/promises';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { createDatabaseOn, runSql } from '../../support/postgres.ts';
import {
  type ReplicatedServer,
  type Replication,
  startReplication,
} from '../../support/replication.ts';

let replication: Replication;
let primary: ReplicatedServer;
let first: ReplicatedServer;
let second: ReplicatedServer;

async function start(options: Parameters<typeof startReplication>[0]): Promise<void> {
  replication = await startReplication(options);
  [primary, first, second] = replication.servers as [
    ReplicatedServer,
    ReplicatedServer,
    ReplicatedServer,
  ];
  await runSql(primary.url, 'create table numbers (number int primary key)');
}

const insert = (server: ReplicatedServer, number: number): Promise<unknown> =>
  runSql(server.url, `insert into numbers values (${number})`);

async function numbersOn({ url }: ReplicatedServer): Promise<unknown[]> {
  const rows = await runSql(url, 'select number from numbers order by number');
  return rows.map(({ number }) => number);
}

/** Waits until standbys have what a primary has written. */
async function catchUp(source: ReplicatedServer, ...standbys: ReplicatedServer[]): Promise<void> {
  const lsn = await source.lsn();
  await Promise.all(standbys.map((standby) => standby.waitUntilReplayed(lsn)));
}

/** Inserts numbers until it is stopped; returns the acknowledged ones. */
function insertMany(current: () => ReplicatedServer): () => Promise<number[]> {
  const acknowledged: number[] = [];
  const end = new AbortController();
  const write = async (): Promise<void> => {
    for (let number = 1; !end.signal.aborted; number += 1) {
      const written = insert(current(), number).then(() => acknowledged.push(number));
      // A number that may be there or not is not repeated.
      await written.catch(() => sleep(10));
    }
  };
  const writing = write();
  return async () => {
    const before = acknowledged.length;
    await expect.poll(() => acknowledged.length, WAIT).toBeGreaterThan(before + 20);
    end.abort();
    await writing;
    return acknowledged;
  };
}

const WAIT = { timeout: 20_000, interval: 10 };

describe('a primary with two standbys', () => {
  // Each test leaves it with a primary and two standbys.
  beforeAll(() => start({ flags: ['-c', 'max_standby_streaming_delay=100ms'] }));
  afterAll(() => replication.stop());
  beforeEach(async () => {
    await runSql(primary.url, 'delete from numbers');
    await catchUp(primary, first, second);
  });

  it('has what it writes on both, which only read', async () => {
    await insert(primary, 1);
    await catchUp(primary, first, second);
    for (const standby of [first, second]) {
      expect(await numbersOn(standby)).toEqual([1]);
      expect(await standby.isInRecovery()).toBe(true);
      await expect(insert(standby, 2)).rejects.toMatchObject({ code: '25006' });
    }
    expect(await primary.isInRecovery()).toBe(false);
  });

  it('has its databases on both, at URLs of each and of all', async () => {
    const url = await createDatabaseOn(primary.url);
    await runSql(url, 'create table names (name text)');
    await catchUp(primary, first);
    expect(await runSql(first.urlOf(url), 'select from names')).toEqual([]);
    const { pathname } = new URL(url);
    expect(replication.multiHostUrl(url, [primary, second])).toBe(
      `postgresql://store:store@127.0.0.1:${primary.port},127.0.0.1:${second.port}${pathname}`,
    );
  });

  it('is followed by the other standby and the old primary after a promotion', async () => {
    await insert(primary, 1);
    await catchUp(primary, first, second);
    await primary.kill();
    await first.promote();
    await insert(first, 2);
    await second.follow(first);
    await primary.rejoin(first);
    await catchUp(first, primary, second);
    expect(await primary.isInRecovery()).toBe(true);
    for (const server of [primary, second]) expect(await numbersOn(server)).toEqual([1, 2]);
    [primary, first] = [first, primary];
  });

  it.each(['fast', 'immediate'] as const)('goes on after a stop: %s', async (mode) => {
    await insert(primary, 1);
    await primary.stop(mode);
    await expect(insert(primary, 2)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await primary.start();
    await insert(primary, 3);
    await catchUp(primary, first, second);
    expect(await numbersOn(second)).toEqual([1, 3]);
  });

  it('waits for no standby that is frozen, and that answers when it is thawed', async () => {
    await insert(primary, 1);
    await catchUp(primary, first);
    first.freeze();
    let isAnswered = false;
    const answer = numbersOn(first).finally(() => {
      isAnswered = true;
    });
    await insert(primary, 2);
    await catchUp(primary, second);
    expect(await numbersOn(second)).toEqual([1, 2]);
    expect(isAnswered).toBe(false);
    first.thaw();
    expect(await answer).toContain(1);
    await catchUp(primary, first);
    expect(await numbersOn(first)).toEqual([1, 2]);
  });

  it('is replayed later by a delayed standby', async () => {
    await first.setDelay(600_000);
    await insert(primary, 1);
    await catchUp(primary, second);
    expect(await numbersOn(first)).toEqual([]);
    expect(await first.replayedLsn()).not.toBe(await first.lsn());
    await first.setDelay(0);
    await catchUp(primary, first);
    expect(await numbersOn(first)).toEqual([1]);
  });

  it('is not seen by a standby that is cut off until it is connected again', async () => {
    await insert(primary, 1);
    await catchUp(primary, first);
    await first.cutOff();
    await insert(primary, 2);
    await catchUp(primary, second);
    expect(await numbersOn(first)).toEqual([1]);
    await first.reconnect();
    await catchUp(primary, first);
    expect(await numbersOn(first)).toEqual([1, 2]);
  });

  it('ends a long read of a standby with 40001 when it removes what that reads', async () => {
    await insert(primary, 1);
    await catchUp(primary, first);
    const reading = runSql(first.url, 'select pg_sleep(60) from numbers').catch(
      (error: unknown) => error,
    );
    const sleepers = `select from pg_stat_activity where wait_event = 'PgSleep'`;
    await expect.poll(() => runSql(first.url, sleepers), WAIT).toHaveLength(1);
    await runSql(primary.url, 'delete from numbers');
    await runSql(primary.url, 'vacuum numbers');
    expect(await reading).toMatchObject({ code: '40001' });
  });
});

describe('a failover', () => {
  afterEach(() => replication.stop());

  it('loses no acknowledged row of synchronous replication, under load', async () => {
    await start({ synchronous: true });
    const finish = insertMany(() => primary);
    let standbys = [first, second];
    for (let count = 0; count < 3; count += 1) {
      const old = primary;
      await old.kill();
      primary = await replication.failOver(standbys);
      await old.rejoin(primary);
      standbys = replication.servers.filter((server) => server !== primary);
    }
    const acknowledged = await finish();
    await catchUp(primary, ...standbys);
    const numbers = await numbersOn(primary);
    expect(acknowledged.filter((number) => !numbers.includes(number))).toEqual([]);
    for (const standby of standbys) expect(await numbersOn(standby)).toEqual(numbers);
  });

  it('is possible without loss because a write waits for a standby, if synchronous', async () => {
    await start({ synchronous: true });
    await Promise.all([first.cutOff(), second.cutOff()]);
    let isAcknowledged = false;
    const writing = insert(primary, 1).finally(() => {
      isAcknowledged = true;
    });
    const waiting = `select from pg_stat_activity where wait_event = 'SyncRep'`;
    await expect.poll(() => runSql(primary.url, waiting), WAIT).toHaveLength(1);
    expect(isAcknowledged).toBe(false);
    await first.reconnect();
    await writing;
    await catchUp(primary, first);
    expect(await numbersOn(first)).toEqual([1]);
  });

  it('promotes the standby that has received most, even if it is delayed', async () => {
    await start({});
    await second.setDelay(600_000);
    await first.cutOff();
    await insert(primary, 1);
    await expect.poll(() => second.lsn(), WAIT).toBe(await primary.lsn());
    await primary.kill();
    expect((await replication.failOver([first, second])).name).toBe(second.name);
    await catchUp(second, first);
    expect(await numbersOn(first)).toEqual([1]);
  });

  it('is not followed by a standby that has received more, which can only rejoin', async () => {
    await start({});
    await first.cutOff();
    await insert(primary, 1);
    await catchUp(primary, second);
    await primary.kill();
    await first.promote();
    await expect(second.follow(first)).rejects.toThrow(/forked off/);
    await second.rejoin(first);
    expect(await numbersOn(second)).toEqual([]);
  });

  it('leaves a second primary if the old one starts again without joining the others', async () => {
    await start({});
    await primary.kill();
    const promoted = await replication.failOver([first, second]);
    await primary.start();
    await insert(primary, 1);
    await insert(promoted, 2);
    expect(await numbersOn(primary)).toEqual([1]);
    expect(await numbersOn(promoted)).toEqual([2]);
  });
});
