import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';

import { afterAll, beforeAll, expect, it } from 'vitest';

import { useProgramStore } from '../support/databases.ts';
import { ask, type Program, startProgram } from '../support/program.ts';
import { repeat } from '../support/repeat.ts';

const COUNTS = 20;

// One connection, opened before the statements start.
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

const store = useProgramStore('PGlite');
let program: Program;
beforeAll(async () => {
  const environment = { ...store.environment, SAMPLE_STORE: 'false' };
  await store.run(`insert into categories (name) values ('Cats');
    insert into pets (name, category_id) select 'Luna', 1 from generate_series(1, 30000)`);
  program = await startProgram(environment);
});
afterAll(() => agent.destroy());

/** Makes a request that needs no statement; returns how long it took, in milliseconds. */
async function timeHealth(): Promise<number> {
  const start = performance.now();
  const [response] = (await once(get(`${program.url}/health`, { agent }), 'response')) as [
    IncomingMessage,
  ];
  expect(response.statusCode).toBe(200);
  await once(response.resume(), 'end');
  return performance.now() - start;
}

it("a gateway whose statements wait for PGlite's only session serves a request that needs no statement before all the waiting statements have run", async () => {
  await timeHealth();
  const start = performance.now();
  const done = new AbortController();
  const counts = repeat(
    COUNTS,
    (index) =>
      `a${index}: pets(first: 0, filter: { status: [${'AVAILABLE '.repeat(index + 1)}] }) { totalCount }`,
  );
  const response = ask(program, `{ ${counts} }`).finally(() => {
    done.abort();
  });
  const waits: number[] = [];
  do waits.push(await timeHealth());
  while (!done.signal.aborted);
  await response;
  expect(Math.max(...waits)).toBeLessThan((performance.now() - start) / 3);
});
