import { setImmediate } from 'node:timers/promises';

import { describe, expect, it } from 'vitest';

import { connectTo, endOf, requestLater } from '../../support/callers.ts';
import { useProgramStore } from '../../support/databases.ts';
import { countConnections } from '../../support/postgres.ts';
import { startProgram } from '../../support/program.ts';

const store = useProgramStore();

const CALLERS = 300;

describe('a gateway', () => {
  it.each([
    ['one process', '1', ['SIGTERM']],
    // A terminal that closes may send it twice.
    ['several processes', '2', ['SIGHUP', 'SIGHUP']],
  ] as const)(
    'of %s stops once each connected caller has its response',
    async (_what, WORKERS, signals) => {
      const program = await startProgram({
        ...store.environment,
        SAMPLE_STORE: 'true',
        WORKERS,
        STOP_TIMEOUT_MS: '60000',
      });
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
      await expect.poll(() => countConnections(store.url)).toBe(0);
    },
  );
});
