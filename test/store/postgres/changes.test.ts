import { once } from 'node:events';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { copyOnPostgres, createRoleOn, useProgramStore } from '../../support/databases.ts';
import { type Gateway, openAt, startGateway } from '../../support/gateway.ts';
import { countStreams, type EventStream, openEvents } from '../../support/live.ts';
import { makeCategory } from '../../support/make.ts';
import { begin, connect, migratePostgres, runSql } from '../../support/postgres.ts';
import { untilSettled } from '../../support/settled.ts';

const NAMES = 'subscription { categoryChanged { after { name } } }';

/** Three gateways on one database, one of which does not listen for notifications. */
let first: Gateway;
let second: Gateway;
let polling: Gateway;
const store = useProgramStore();
beforeAll(async () => {
  first = await startGateway({}, openAt(store));
  second = await startGateway({}, openAt(store));
  polling = await startGateway({ PGBOUNCER: 'true' }, openAt(store));
});
afterAll(async () => {
  for (const each of [first, second, polling]) await each.close();
});

async function recorded(): Promise<string[]> {
  const { changes } = await first.data(
    '{ changes(last: 100, filter: { types: [CATEGORY] }) { nodes { ... on CategoryChange { after { name } } } } }',
  );
  return changes.nodes.map(({ after }: { after: { name: string } }) => after.name);
}

const nameOf = async (stream: EventStream): Promise<string> =>
  (await stream.data()).categoryChanged.after.name;

/** Follows the names of categories, without the writes of earlier tests. */
async function follow(gateway: Gateway): Promise<EventStream> {
  await untilSettled(gateway.db);
  return openEvents(gateway, NAMES);
}

describe('an open transaction', () => {
  it.each(['commit', 'rollback'])('holds back all later changes until its %s', async (end) => {
    const stream = await follow(first);
    const insert = `insert into categories (name) values ('early, ${end}')`;
    const client = await begin(store.url, insert);
    await makeCategory(second, `late, ${end}`);
    expect(await recorded()).not.toContain(`late, ${end}`);
    await client.query(end);
    await client.end();
    await makeCategory(second, `last, ${end}`);
    const names = end === 'commit' ? ['early', 'late', 'last'] : ['late', 'last'];
    const expected = names.map((name) => `${name}, ${end}`);
    for (const name of expected) expect(await nameOf(stream)).toBe(name);
    await expect.poll(async () => (await recorded()).slice(-expected.length)).toEqual(expected);
    stream.disconnect();
  });

  it('does not hold back changes if it only reads', async () => {
    const client = await connect(store.url);
    await client.query('begin isolation level repeatable read; select from categories');
    await makeCategory(first, 'beside a reader');
    await expect.poll(recorded).toContain('beside a reader');
    await client.end();
  });
});

describe('SQL that an operator runs', () => {
  it('neither requires nor gains access to the change log', async () => {
    const { role, href } = await createRoleOn(store.url);
    await runSql(
      store.url,
      `grant insert, update, delete, select, truncate on all tables in schema public to ${role};
       revoke all on changes, settled_changes from ${role}`,
    );
    await runSql(
      href,
      `insert into categories (id, name) values (9000, 'by a clerk');
       update categories set name = 'by a clerk, again' where id = 9000`,
    );
    await expect
      .poll(async () => (await recorded()).slice(-2))
      .toEqual(['by a clerk', 'by a clerk, again']);
    for (const name of ['changes', 'settled_changes']) {
      await expect(runSql(href, `delete from ${name}`)).rejects.toThrow('denied');
    }
    // If this were allowed, the role could write to the change log with the rights of the function's owner.
    await expect(
      runSql(
        href,
        `create temp table own (id integer);
         create trigger own after insert on own for each row execute function public.record_pets()`,
      ),
    ).rejects.toThrow('permission denied for function');
    await runSql(store.url, `drop owned by ${role}`);
  });

  it('has its changes recorded whatever the search path, even if the path contains tables and operators with the same names', async () => {
    await runSql(
      store.url,
      `create schema other;
       create function other.fail(text, text) returns boolean language plpgsql
         as $$ begin raise exception 'Called with the rights of the owner.'; end $$;
       create operator other.= (function = other.fail, leftarg = text, rightarg = text); create table other.changes (id integer); create table other.categories (id integer);
       set search_path = other, pg_catalog;
       insert into public.categories (name) values ('by another path')`,
    );
    await expect.poll(recorded).toContain('by another path');
    expect(await runSql(store.url, 'select from other.changes')).toEqual([]);
  });
});

it('a store in a schema other than public has its change log in that schema', async () => {
  const { url: empty, drop: dropEmpty } = await copyOnPostgres();
  await runSql(empty, 'drop schema public cascade; create schema shop');
  const ofShop = `${empty}?options=${encodeURIComponent('-c search_path=shop')}`;
  await migratePostgres(ofShop);
  await runSql(
    ofShop,
    `insert into categories (name) values ('in a shop'); truncate categories cascade`,
  );
  const kinds = () =>
    runSql(empty, 'select kind from shop.settled_changes order by transaction, id');
  // A change is settled once all earlier transactions on the server have ended.
  await expect.poll(kinds).toEqual([{ kind: 'created' }, { kind: 'deleted' }]);
  await dropEmpty();
});

const LISTENING = `from pg_stat_activity
  where query = 'LISTEN store_changes' and datname = current_database()`;

describe('gateways on one database', () => {
  it('notify each other, so that a subscription at one gateway receives the writes of the other gateway', async () => {
    const stream = await follow(second);
    const listener = await connect(store.url);
    await listener.query('listen store_changes');
    const notified = once(listener, 'notification');
    await makeCategory(first, 'noticed');
    await notified;
    expect(await nameOf(stream)).toBe('noticed');
    await listener.end();
    stream.disconnect();
    await expect.poll(() => countStreams(second)).toBe(0);
  });

  it('deliver changes with PGBOUNCER=true, although they receive no notifications', async () => {
    const count = async (): Promise<number> =>
      (await runSql(store.url, `select ${LISTENING}`)).length;
    const listening = [await follow(first), await follow(second)];
    await expect.poll(count).toBe(listening.length);
    const stream = await follow(polling);
    await makeCategory(polling, 'own');
    expect(await nameOf(stream)).toBe('own');
    await runSql(store.url, `insert into categories (name) values ('polled')`);
    expect(await nameOf(stream)).toBe('polled');
    expect(await count()).toBe(listening.length);
    for (const each of [stream, ...listening]) each.disconnect();
  });

  it('lose no changes if PostgreSQL closes all their connections', async () => {
    const stream = await follow(second);
    await makeCategory(first, 'now');
    expect(await nameOf(stream)).toBe('now');
    await runSql(
      store.url,
      `insert into categories (name) values ('before the end');
       select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = 'pet-store-gateway' and datname = current_database();
       insert into categories (name) values ('after the end')`,
    );
    expect(await nameOf(stream)).toBe('before the end');
    expect(await nameOf(stream)).toBe('after the end');
    await expect.poll(() => runSql(store.url, `select ${LISTENING}`)).not.toEqual([]);
    stream.disconnect();
  });
});
