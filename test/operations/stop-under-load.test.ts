import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { makeProgramStore, type ProgramStore } from '../support/databases.ts';
import { killPrograms, type Program, startProgram } from '../support/program.ts';

let store: ProgramStore;
beforeAll(async () => {
  store = await makeProgramStore();
});
afterEach(killPrograms);
afterAll(() => store.remove());

const REQUEST = 'GET /pets/1 HTTP/1.1\r\nHost: localhost\r\n\r\n';

const connectTo = ({ url }: Program): Socket => connect(Number(new URL(url).port), '127.0.0.1');

/** How a connection ended: with which status, an error, or without a word. */
function endOf(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    socket.on('data', (data) => {
      text += data.toString();
    });
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(String(code)));
    socket.once('close', () => resolve(text.split('\r\n')[0] || 'nothing'));
  });
}

/** Connects, and sends the one request a moment later. */
function askLater(program: Program): Promise<string> {
  const socket = connectTo(program);
  socket.once('connect', () => void setTimeout(() => socket.write(REQUEST), Math.random() * 300));
  return endOf(socket);
}

const workers = (): number[] => ('DATABASE_URL' in store.environment ? [1, 3] : [1]);

describe('a gateway that stops while callers connect', { timeout: 90_000 }, () => {
  it('answers each of them, and then takes no connection', async () => {
    for (const count of workers()) {
      const program = await startProgram({
        ...store.environment,
        SAMPLE_STORE: 'true',
        WORKERS: String(count),
        STOP_TIMEOUT_MS: '60000',
      });
      const ends = Array.from({ length: 300 }, () => askLater(program));
      // From here on the system has them all; the gateway accepts them one by one.
      await setImmediate();
      const stopped = program.stop();
      expect(new Set(await Promise.all(ends))).toEqual(new Set(['HTTP/1.1 200 OK']));
      expect(await endOf(connectTo(program))).toBe('ECONNREFUSED');
      expect(await stopped).toBe(0);
    }
  });

  it('waits about a second for one that says nothing, and not at all for one that was answered', async () => {
    for (const count of workers()) {
      const program = await startProgram({
        ...store.environment,
        WORKERS: String(count),
        STOP_TIMEOUT_MS: '60000',
      });
      const silent = connectTo(program);
      const answered = connectTo(program);
      answered.write(REQUEST);
      await once(answered, 'data');
      const ends = [silent, answered].map(async (socket) => {
        await endOf(socket.resume());
        return performance.now();
      });
      const stopped = program.stop();
      const [silentEnd = 0, answeredEnd = 0] = await Promise.all(ends);
      expect(silentEnd - answeredEnd).toBeGreaterThan(300);
      expect(await stopped).toBe(0);
      // The deadline is a minute away.
      expect(performance.now() - answeredEnd).toBeLessThan(20_000);
    }
  });
});

describe('SIGHUP', { timeout: 60_000 }, () => {
  it('stops the gateway like SIGTERM, also when it comes twice', async () => {
    for (const count of workers()) {
      const program = await startProgram({ ...store.environment, WORKERS: String(count) });
      const end = askLater(program);
      await setImmediate();
      program.process.kill('SIGHUP');
      program.process.kill('SIGHUP');
      expect(await program.end).toBe(0);
      expect(await end).toBe('HTTP/1.1 200 OK');
      expect(program.messages).toContain('Stopping.');
    }
  });
});
