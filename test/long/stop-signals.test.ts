import { setImmediate } from 'node:timers/promises';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { connectTo, endOf, requestLater } from '../support/callers.ts';
import { makeProgramStore, type ProgramStore } from '../support/databases.ts';
import { killPrograms, startProgram, STOP_SIGNALS } from '../support/program.ts';

let store: ProgramStore;
beforeAll(async () => {
  store = await makeProgramStore();
});
afterAll(async () => {
  await killPrograms();
  await store.remove();
});

const CALLERS = 300;

// `npm test` checks this on PostgreSQL.
describe.each(STOP_SIGNALS)('%s, sent %s', (_signal, _times, signals) => {
  it('stops the program once each connected caller has its response, and its line is in the log', async () => {
    const program = await startProgram({ ...store.environment, STOP_TIMEOUT_MS: '60000' });
    const ends = Array.from({ length: CALLERS }, () => requestLater(program));
    // By now the system has all connections; the gateway accepts them one by one.
    await setImmediate();
    for (const signal of signals) program.process.kill(signal);
    expect(new Set(await Promise.all(ends))).toEqual(new Set(['HTTP/1.1 200 OK']));
    expect(await endOf(connectTo(program))).toBe('ECONNREFUSED');
    expect(await program.end).toBe(0);
    expect(program.messages.filter((message) => message === 'Stopping.')).toHaveLength(1);
    expect(program.messages.filter((message) => message === 'A request ended.')).toHaveLength(
      CALLERS,
    );
  });
});
