import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { makeProgramStore, type ProgramStore } from '../support/databases.ts';
import { HOSTILE_DOCUMENTS, WORST_DOCUMENTS } from '../support/hostile-documents.ts';
import { HOSTILE_VARIABLES } from '../support/hostile-variables.ts';
import { readMetrics, sumOf } from '../support/metrics.ts';
import { post } from '../support/post.ts';
import { killPrograms, type Program, startProgram } from '../support/program.ts';
import { repeat } from '../support/repeat.ts';

// More than this, and the program ends: it begins with some 40 MB.
const HEAP_MB = 200;
const ATTACKERS = 4;
const HONEST = '{ pet(id: "1") { name category { name } } }';

const COLLECTED = 'collected';
// What is garbage is not known before it is collected.
const COLLECT = `
  import { setFlagsFromString } from 'node:v8';
  import { runInNewContext } from 'node:vm';
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc');
  process.on('SIGUSR2', () => { collect(); process.stdout.write('${COLLECTED}\\n'); });`;

let store: ProgramStore;
let program: Program;
beforeAll(async () => {
  store = await makeProgramStore();
  program = await startProgram({
    SAMPLE_STORE: 'true',
    NODE_OPTIONS: `--max-old-space-size=${HEAP_MB} --import "data:text/javascript,${encodeURIComponent(COLLECT)}"`,
    ...store.environment,
  });
});
afterAll(async () => {
  killPrograms();
  await store.remove();
});

const REFUSED_OR_NOT = [200, 400, 413];

/** Posts a body, and gives how long the answer took, in milliseconds. */
async function time(body: string, statuses: readonly number[] = REFUSED_OR_NOT): Promise<number> {
  const start = performance.now();
  const response = await post(program, body);
  await response.arrayBuffer();
  expect(statuses).toContain(response.status);
  return performance.now() - start;
}

const askHonestly = (): Promise<number> => time(JSON.stringify({ query: HONEST }), [200]);

/** Does something so many times, one after the other, and gives the times in order. */
async function times(count: number, ask: (index: number) => Promise<number>): Promise<number[]> {
  const all: number[] = [];
  for (let index = 0; index < count; index += 1) all.push(await ask(index));
  return all.toSorted((a, b) => a - b);
}

const at = (sorted: readonly number[], share: number): number =>
  sorted[Math.floor((sorted.length - 1) * share)] ?? 0;

/** What the program holds, without garbage, in MB. */
async function held(): Promise<number> {
  const collections = (): number => program.messages.filter((said) => said === COLLECTED).length;
  const before = collections();
  program.process.kill('SIGUSR2');
  await expect.poll(collections, { timeout: 30_000 }).toBe(before + 1);
  return sumOf(await readMetrics(program), 'nodejs_heap_size_used_bytes') / 1e6;
}

// Each time another document: none is known yet.
let count = 0;
const freshly = (query: string): string => JSON.stringify({ query: `${query}#${(count += 1)}` });

/** Expects that a program still serves, and has complained of nothing. */
async function expectWell(): Promise<void> {
  expect(program.process.exitCode).toBeNull();
  await askHonestly();
  expect(program.entries.filter(({ level }) => Number(level) >= 40)).toEqual([]);
}

const attack = (index: number): Promise<number> =>
  time(freshly(WORST_DOCUMENTS[index % WORST_DOCUMENTS.length] ?? ''));

describe('a gateway under attack', { timeout: 120_000 }, () => {
  it('holds no more than before once it has seen everything', async () => {
    await times(100, askHonestly);
    const before = await held();
    const bodies = [
      ...HOSTILE_DOCUMENTS.map(([, body]) => JSON.stringify(body)),
      ...HOSTILE_VARIABLES.map(([, body]) => body),
    ];
    for (const body of bodies) await time(body);
    const after = await held();
    expect(after).toBeLessThan(before + 50);
    await expectWell();
  });

  it('holds few of ever new documents', async () => {
    const long = `{ ${repeat(35, (index) => `a${index}: pets(first: 0, filter: { status: [${repeat(100, () => 'SOLD')}] }) @skip(if: true) { nodes { id } }`)} } ${'#é'.repeat(10_000)}`;
    const before = await held();
    for (let index = 0; index < 100; index += 1) await time(freshly(long), [200]);
    // A dozen of them are kept, in some 6 MB; all would take 50.
    expect(await held()).toBeLessThan(before + 30);
    await expectWell();
  });

  it('lets nobody wait longer than for those before', async () => {
    const alone = await times(WORST_DOCUMENTS.length, attack);
    const until = new AbortController();
    const attackers = Array.from({ length: ATTACKERS }, async (_, first) => {
      for (let index = first; !until.signal.aborted; index += 1) await attack(index);
    });
    const attacked = await times(10, askHonestly);
    until.abort();
    await Promise.all(attackers);
    // At worst it comes after one of each attacker, and another has begun when it is its turn.
    expect(at(attacked, 0.5)).toBeLessThan((ATTACKERS + 1) * at(alone, 1) + 50);
    await expectWell();
  });
});
