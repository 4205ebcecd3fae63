import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Plugin } from 'graphql-yoga';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import type { Store } from '../../src/gateway/index.ts';
import { petStore } from '../../src/store/index.ts';
import { openCopy } from '../support/databases.ts';
import { gateway, run, useGateway } from '../support/gateway.ts';
import { changed, type EventStream, follow, untilNoStreams } from '../support/live.ts';
import { makeCategory } from '../support/make.ts';
import { lastCursor, untilSettled } from '../support/settled.ts';

const CHANGES = 200;

/** A client that stalls: it has the first results, and takes the rest once it resumes. */
const stall = { after: Infinity, taken: 0, door: new EventEmitter() };

const stalling: Plugin = {
  onSubscribe: () => ({
    onSubscribeResult: () => ({
      onNext: async () => {
        stall.taken += 1;
        if (stall.taken === stall.after) await once(stall.door, 'resume');
      },
    }),
  }),
};
const store: Store = { ...petStore, plugins: [stalling] };

const SMALL = 'petChanged(after: $after) { cursor pet { name category { name } } }';
// Costs more than 1,000.
const COSTLY = `petChanged(after: $after) { pet { name category { ${[1, 2, 3, 4, 5]
  .map((index) => `a${index}: pets(first: 3) { nodes { name category { name } } }`)
  .join(' ')} } } }`;

async function take(stream: EventStream, count: number): Promise<{ name: string }[]> {
  const pets = [];
  while (pets.length < count) pets.push((await changed(stream)).pet);
  return pets;
}

/** Makes changes to pets with one statement, and returns the cursor before them, and the names. */
async function makeChanges(count: number): Promise<{ after: string; names: string[] }> {
  const id = await makeCategory(gateway);
  const after = await lastCursor(gateway);
  await run(`insert into pets (name, category_id, status)
      select 'pet ' || n, ${id}, 'available' from generate_series(1, ${count}) as n`);
  await untilSettled(gateway.db);
  return { after, names: Array.from({ length: count }, (_, index) => `pet ${index + 1}`) };
}

const countReads = (): number =>
  gateway.statements.filter((text) => /from "?pets/.test(text)).length;

const countPages = (): number =>
  gateway.statements.filter((text) => text.includes(`where type = 'Pet' and`)).length;

const renameAll = (): Promise<unknown> => run(`update pets set name = 'renamed'`);

const namesOf = (pets: readonly { name: string }[]): string[] => pets.map(({ name }) => name);

useGateway({}, openCopy, {}, store);

let now = 0;
beforeEach(async () => {
  await untilNoStreams(gateway);
  // Results are recent until the test moves the clock.
  now = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  stall.after = Infinity;
  stall.taken = 0;
  gateway.statements.splice(0);
});
afterEach(() => {
  stall.door.emit('resume');
  vi.restoreAllMocks();
});
const moveClock = async (ms: number): Promise<void> => {
  now += ms;
  // lru-cache remembers the time until a timer of a millisecond fires.
  await sleep(2);
};

it('a subscriber gets the objects of many changes by a few statements as they happen, in the order of the changes', async () => {
  const stream = await follow(gateway, SMALL);
  gateway.statements.splice(0);
  const { names } = await makeChanges(CHANGES);
  expect(namesOf(await take(stream, CHANGES))).toEqual(names);
  expect(countReads()).toBeLessThan(CHANGES / 4);
});

it('subscribers that resume one after the other get the objects by a few statements, and share the old changes and their results', async () => {
  const { after, names } = await makeChanges(CHANGES);
  gateway.statements.splice(0);
  const first = await follow(gateway, SMALL, after);
  expect(namesOf(await take(first, CHANGES))).toEqual(names);
  const [reads, pages] = [countReads(), countPages()];
  expect(reads).toBeLessThan(CHANGES / 4);
  expect(pages).toBeGreaterThan(0);
  const second = await follow(gateway, SMALL, after);
  expect(namesOf(await take(second, CHANGES))).toEqual(names);
  expect(countReads()).toBe(reads);
  expect(countPages()).toBe(pages);
});

describe('a client that stalls', () => {
  it('for more than two seconds gets the objects as they are when it resumes', async () => {
    const { after, names } = await makeChanges(30);
    stall.after = 3;
    const stream = await follow(gateway, SMALL, after);
    expect(namesOf(await take(stream, 2))).toEqual(names.slice(0, 2));
    await renameAll();
    await moveClock(2001);
    stall.door.emit('resume');
    const rest = namesOf(await take(stream, 28));
    expect(rest).toEqual(['pet 3', ...Array.from({ length: 27 }, () => 'renamed')]);
  });

  it('is ended with SLOW_SUBSCRIBER after three seconds, and can resume after the last change that it has taken', async () => {
    const { after } = await makeChanges(1500);
    const other = await follow(gateway, SMALL, after);
    await take(other, 1500);
    stall.taken = 0;
    stall.after = 3;
    const stream = await follow(gateway, SMALL, after);
    await take(stream, 1);
    const second = await changed(stream);
    await moveClock(3001);
    // Which streams have stalled is checked before a change is delivered.
    await renameAll();
    await take(other, 1);
    stall.door.emit('resume');
    const third = await changed(stream);
    expect(await stream.rest()).toMatchObject([
      { errors: [{ extensions: { code: 'SLOW_SUBSCRIBER' } }] },
    ]);
    const resumed = await follow(gateway, SMALL, second.cursor);
    expect((await changed(resumed)).cursor).toBe(third.cursor);
  });

  it('has no more results computed than ten, and none once it is gone', async () => {
    const { after } = await makeChanges(CHANGES);
    gateway.statements.splice(0);
    stall.after = 3;
    const stream = await follow(gateway, SMALL, after);
    await take(stream, 2);
    const reads = countReads();
    expect(reads).toBeLessThanOrEqual(2);
    stream.disconnect();
    await untilNoStreams(gateway);
    stall.door.emit('resume');
    await gateway.data('{ __typename }');
    expect(countReads()).toBe(reads);
  });

  it('has one costly result computed at a time', async () => {
    const { after } = await makeChanges(3);
    stall.after = 1;
    const stream = await follow(gateway, COSTLY, after);
    await expect.poll(() => stall.taken).toBe(1);
    await renameAll();
    stall.door.emit('resume');
    expect(namesOf(await take(stream, 3))).toEqual(['pet 1', 'renamed', 'renamed']);
  });
});
