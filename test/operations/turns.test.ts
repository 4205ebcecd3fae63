import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { makeProgramStore, type ProgramStore } from '../support/databases.ts';
import { repeat } from '../support/repeat.ts';
import { ask, killPrograms, type Program, startProgram } from '../support/program.ts';

const COUNTS = 45;

// A connection of its own, which is open before others wait to be accepted.
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

let store: ProgramStore;
let program: Program;
beforeAll(async () => {
  store = await makeProgramStore();
  const first = await startProgram(store.environment);
  await first.stop();
  await store.run(`insert into pets (name, category_id)
    select 'Luna', 1 from generate_series(1, 100000)`);
  program = await startProgram(store.environment);
});
afterAll(async () => {
  agent.destroy();
  killPrograms();
  await store.remove();
});

/** Asks for something that takes no statement, and returns how long that took, in milliseconds. */
async function askForHealth(): Promise<number> {
  const start = performance.now();
  const [response] = (await once(get(`${program.url}/health`, { agent }), 'response')) as [
    IncomingMessage,
  ];
  expect(response.statusCode).toBe(200);
  await once(response.resume(), 'end');
  return performance.now() - start;
}

describe('while many statements wait for the one session', () => {
  it('the gateway answers what needs none of them', async () => {
    await askForHealth();
    const start = performance.now();
    const done = new AbortController();
    const counts = repeat(
      COUNTS,
      (index) =>
        `a${index}: pets(first: 0, filter: { status: [${'AVAILABLE '.repeat(index + 1)}] }) { totalCount }`,
    );
    const answer = ask(program, `{ ${counts} }`).finally(() => {
      done.abort();
    });
    const waits: number[] = [];
    do waits.push(await askForHealth());
    while (!done.signal.aborted);
    await answer;
    expect(Math.max(...waits)).toBeLessThan((performance.now() - start) / 3);
  });
});
