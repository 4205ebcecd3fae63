import { connect, type Socket } from 'node:net';

import { describe, expect, it } from 'vitest';

import { useProgram, useProgramStore } from '../support/databases.ts';
import { HOSTILE_DOCUMENTS, WORST_DOCUMENTS } from '../support/hostile-documents.ts';
import { HOSTILE_VARIABLES } from '../support/hostile-variables.ts';
import { LITTLE_MEMORY, usedMb } from '../support/memory.ts';
import { post } from '../support/post.ts';

const ATTACKERS = 4;
const HONEST = '{ pet(id: "1") { name category { name } } }';

const store = useProgramStore('PGlite');
const program = useProgram(store, { SAMPLE_STORE: 'true', ...LITTLE_MEMORY });

const EXPECTED = [200, 400, 413];

/** Posts a body and returns how long the response took, in milliseconds. */
async function time(body: string, statuses: readonly number[] = EXPECTED): Promise<number> {
  const start = performance.now();
  const response = await post(program, body);
  await response.arrayBuffer();
  expect(statuses).toContain(response.status);
  return performance.now() - start;
}

const postHonest = (): Promise<number> => time(JSON.stringify({ query: HONEST }), [200]);

async function times(count: number, send: (index: number) => Promise<number>): Promise<number[]> {
  const all: number[] = [];
  for (let index = 0; index < count; index += 1) all.push(await send(index));
  return all.toSorted((a, b) => a - b);
}

const at = (sorted: readonly number[], share: number): number =>
  sorted[Math.floor((sorted.length - 1) * share)] ?? 0;

// The comment makes each document unique, so that no cache contains it.
let count = 0;
const toBody = (query: string): string => JSON.stringify({ query: `${query}#${(count += 1)}` });

async function expectWell(): Promise<void> {
  expect(program.process.exitCode).toBeNull();
  await postHonest();
  expect(program.entries.filter(({ level }) => Number(level) >= 40)).toEqual([]);
}

/** Sends a body of 900,000 spaces, each in a chunk of its own, and does not end it. */
async function sendBytewise(path: string): Promise<Socket> {
  const socket = connect(Number(new URL(program.url).port), '127.0.0.1').on('error', () => {});
  const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
  const text = head + '1\r\n \r\n'.repeat(900_000);
  await new Promise((resolve) => void socket.write(text, resolve));
  return socket;
}

const attack = (index: number): Promise<number> =>
  time(toBody(WORST_DOCUMENTS[index % WORST_DOCUMENTS.length] ?? ''));

describe('a gateway with hostile callers', { timeout: 180_000 }, () => {
  it('uses less than 50 MB more memory after many hostile requests', async () => {
    await times(100, postHonest);
    const before = await usedMb(program);
    const bodies = [...HOSTILE_DOCUMENTS, ...HOSTILE_VARIABLES];
    for (let round = 1; round <= 2; round += 1) for (const body of bodies) await time(body);
    const after = await usedMb(program);
    expect(after).toBeLessThan(before + 50);
    await expectWell();
  });

  it('usually makes an honest caller wait for at most one request of each attacker, and for one that has already started', async () => {
    const alone = await times(WORST_DOCUMENTS.length, attack);
    const until = new AbortController();
    const attackers = Array.from({ length: ATTACKERS }, async (_, first) => {
      for (let index = first; !until.signal.aborted; index += 1) await attack(index);
    });
    const attacked = await times(10, postHonest);
    until.abort();
    await Promise.all(attackers);
    // At worst, the honest caller waits for one request of each attacker, and for a request that has already started.
    expect(at(attacked, 0.5)).toBeLessThan((ATTACKERS + 1) * at(alone, 1) + 50);
    await expectWell();
  });

  it.each(['/graphql', '/unknown'])(
    'keeps little memory for bodies in chunks of one byte, sent to %s',
    async (path) => {
      const before = await usedMb(program);
      const sockets = await Promise.all(Array.from({ length: 4 }, () => sendBytewise(path)));
      await postHonest();
      expect(await usedMb(program)).toBeLessThan(before + 20);
      for (const socket of sockets) socket.destroy();
      await expectWell();
    },
  );
});
