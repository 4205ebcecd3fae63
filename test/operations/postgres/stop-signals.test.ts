import { once } from 'node:events';

import { describe, expect, it } from 'vitest';

import { connectTo, endOf, REQUEST } from '../../support/callers.ts';
import { useProgramStore } from '../../support/databases.ts';
import { countConnections } from '../../support/postgres.ts';
import { startProgram } from '../../support/program.ts';

const store = useProgramStore();

describe('a gateway that receives a stop signal', () => {
  it.each([
    ['SIGTERM', 300, '0'],
    ['SIGHUP', 50, '3000'],
  ] as const)(
    'waits until each connected client has its response: %s',
    async (signal, count, delay) => {
      const program = await startProgram({
        ...store.environment,
        SAMPLE_STORE: 'true',
        STOP_DELAY_MS: delay,
        STOP_TIMEOUT_MS: '60000',
      });
      // The system holds the connections until the gateway runs again and accepts them one by one.
      program.process.kill('SIGSTOP');
      const callers = Array.from({ length: count }, () => connectTo(program));
      await Promise.all(callers.map((caller) => once(caller, 'connect')));
      const ends = Promise.all(callers.map(endOf));
      program.process.kill(signal);
      program.process.kill('SIGCONT');
      await program.logged(/^Stopping\.$/);
      // A terminal that closes may send SIGHUP twice.
      if (signal === 'SIGHUP') program.process.kill(signal);
      for (const caller of callers) caller.write(REQUEST);
      expect(new Set(await ends)).toEqual(new Set(['HTTP/1.1 200 OK']));
      expect(await program.end).toBe(0);
      expect(await endOf(connectTo(program))).toBe('ECONNREFUSED');
      expect(program.messages.filter((message) => message === 'Stopping.')).toHaveLength(1);
      expect(program.messages.filter((message) => message === 'A request ended.')).toHaveLength(
        count,
      );
      await expect.poll(() => countConnections(store.url)).toBe(0);
    },
  );

  it('stops immediately on a second signal', async () => {
    // If it waited, the test would time out.
    const program = await startProgram({ ...store.environment, STOP_DELAY_MS: '600000' });
    program.process.kill('SIGTERM');
    await program.logged(/^Stopping\.$/);
    expect(await program.stop()).toBe(1);
  });
});
