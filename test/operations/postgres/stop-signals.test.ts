import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { connectTo, endOf, REQUEST, requestLater } from '../../support/callers.ts';
import { makeProgramStoreOnPostgres, type ProgramStore } from '../../support/databases.ts';
import { countConnections } from '../../support/postgres.ts';
import { killPrograms, startProgram, STOP_SIGNALS } from '../../support/program.ts';
import { rounds } from '../../support/rounds.ts';

let store: ProgramStore;
beforeAll(async () => {
  store = await makeProgramStoreOnPostgres();
});
afterAll(async () => {
  await killPrograms();
  await store.remove();
});

const CALLERS = 300;

describe.each(STOP_SIGNALS.slice(0, rounds(1, 2)))('%s, sent %s', (_signal, _times, signals) => {
  it.each([
    ['one process', '1'],
    ['several processes', '2'],
  ])('stops %s once each connected caller has its response', async (_what, workers) => {
    const program = await startProgram({
      ...store.environment,
      SAMPLE_STORE: 'true',
      WORKERS: workers,
      STOP_TIMEOUT_MS: '60000',
    });
    const silent = connectTo(program);
    const answered = connectTo(program);
    answered.write(REQUEST);
    await once(answered, 'data');
    const timeOfEnd = async (socket: typeof silent): Promise<number> => {
      await endOf(socket.resume());
      return performance.now();
    };
    const idleEnds = [silent, answered].map(timeOfEnd);

    const ends = Array.from({ length: CALLERS }, () => requestLater(program));
    // By now the system has all connections; the gateway accepts them one by one.
    await setImmediate();
    for (const signal of signals) program.process.kill(signal);
    expect(new Set(await Promise.all(ends))).toEqual(new Set(['HTTP/1.1 200 OK']));
    expect(await endOf(connectTo(program))).toBe('ECONNREFUSED');
    expect(await program.end).toBe(0);
    expect(program.messages.filter((message) => message === 'Stopping.')).toHaveLength(1);
    // The other is the one that was answered before.
    expect(program.messages.filter((message) => message === 'A request ended.')).toHaveLength(
      CALLERS + 1,
    );
    // The gateway waits about a second for a connection that sends nothing.
    const [silentEnd = 0, answeredEnd = 0] = await Promise.all(idleEnds);
    expect(silentEnd - answeredEnd).toBeGreaterThan(300);
    const url = store.environment['DATABASE_URL'] ?? '';
    await expect.poll(() => countConnections(url), { timeout: 30_000 }).toBe(0);
  });
});
