import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

import { describe, expect, it } from 'vitest';

import { FairQueue } from '../../src/gateway/database/fair-queue.ts';

const LIMITS = { concurrency: 1, maxWaiting: 10, maxWaitMs: 60_000, pause: 'rest' } as const;
const REJECTION = { code: 'SERVICE_UNAVAILABLE', headers: { 'Retry-After': '1' }, isLogged: false };

/** Returns a task that completes on command. */
function createBlocker() {
  const door = new EventEmitter();
  const opened = once(door, 'open');
  return { work: () => opened, end: () => void door.emit('open') };
}

/** Blocks the event loop. */
function holdUp(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

describe('a fair queue', () => {
  it('lets callers take turns, however many tasks each caller has', async () => {
    const queue = new FairQueue(LIMITS);
    const order: string[] = [];
    const add = (caller: string, index: number): Promise<number> =>
      queue.run(caller, () => order.push(`${caller}${index}`));
    const all = [0, 1, 2, 3].map((index) => add('a', index));
    all.push(add('b', 0), add('b', 1), add('c', 0));
    await Promise.all(all);
    expect(order).toEqual(['a0', 'a1', 'b0', 'c0', 'a2', 'b1', 'a3']);
  });

  it('yields to the event loop after a task that blocks it', async () => {
    const queue = new FairQueue(LIMITS);
    const order: string[] = [];
    const add = (name: string, ms: number) =>
      queue.run('a', () => {
        holdUp(ms);
        order.push(name);
        setTimeout(() => order.push(`timer after ${name}`), 2 * ms);
        setImmediate(() => order.push(`tick after ${name}`));
      });
    await Promise.all([add('long', 10), add('short', 0), add('last', 0)]);
    await sleep(0);
    expect(order.slice(0, 3)).toEqual(['long', 'tick after long', 'timer after long']);
    expect(order.indexOf('tick after short')).toBeLessThan(order.indexOf('last'));
  });

  it('rejects a task that has waited too long, and never runs it', async () => {
    const queue = new FairQueue({ ...LIMITS, maxWaitMs: 5 });
    const { work, end } = createBlocker();
    const running = queue.run('a', work);
    let hasRun = false;
    const waiting = queue.run('b', () => {
      hasRun = true;
    });
    await expect(waiting).rejects.toMatchObject(REJECTION);
    end();
    await running;
    // While the queue lets other work run, this task can wait too long as well.
    const next = () => queue.run('c', () => 'next').catch(() => 'rejected');
    await expect.poll(next).toBe('next');
    expect(hasRun).toBe(false);
  });

  it('rejects the newest task of the caller with the most if too many are waiting', async () => {
    const queue = new FairQueue({ ...LIMITS, maxWaiting: 6 });
    const { work, end } = createBlocker();
    const running = queue.run('a', work);
    const tasks = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1', 'd1', 'd2', 'e1', 'b3', 'e2', 'f1'];
    const results = Promise.all(
      tasks.map((task) => queue.run(task.charAt(0), () => task).catch((error: unknown) => error)),
    );
    end();
    await running;
    const rejected = expect.objectContaining(REJECTION);
    const served = ['a1', rejected, rejected, 'b1', rejected, 'c1', 'd1', rejected, 'e1'];
    expect(await results).toEqual([...served, rejected, rejected, 'f1']);
    expect(await queue.run('a', () => 'later')).toBe('later');
  });
});
