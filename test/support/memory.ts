import { expect } from 'vitest';

import { readMetrics, sumOf } from './metrics.ts';
import type { Program } from './program.ts';

const COLLECTED = /^collected$/;
const OLD_SPACE = /^old space (\d+)$/;
// V8 counts garbage as used until it is collected. What survives two minor collections is in the old space,
// where only a major one collects it.
const COLLECT = `
  import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
  import { runInNewContext } from 'node:vm';
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc');
  process.on('SIGUSR2', () => { collect(); process.stdout.write('collected\\n'); });
  process.on('SIGWINCH', () => {
    collect({ type: 'minor' });
    collect({ type: 'minor' });
    const { space_used_size: bytes } = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space');
    process.stdout.write(\`old space \${bytes}\\n\`);
  });`;

// A program that needs more than this exits. The gateway needs about 40 MB at startup.
const HEAP_MB = 200;

/** The variable that gives a program little memory, and lets usedMb() measure how much the program uses. */
export const LITTLE_MEMORY = {
  NODE_OPTIONS: `--max-old-space-size=${HEAP_MB} --import "data:text/javascript,${encodeURIComponent(COLLECT)}"`,
};

/** Sends a signal, and returns the message that the program writes in response. */
async function askBySignal(
  { messages, process }: Program,
  signal: NodeJS.Signals,
  response: RegExp,
): Promise<string> {
  const responses = (): string[] => messages.filter((message) => response.test(message));
  const before = responses().length;
  process.kill(signal);
  await expect.poll(() => responses().length, { timeout: 30_000 }).toBe(before + 1);
  return responses().at(-1) ?? '';
}

/** Returns how much memory a program uses, without garbage, in MB. */
export async function usedMb(program: Program): Promise<number> {
  await askBySignal(program, 'SIGUSR2', COLLECTED);
  return sumOf(await readMetrics(program), 'nodejs_heap_size_used_bytes') / 1e6;
}

/** Returns how many bytes of a program's memory only a major collection could free. */
export async function oldBytes(program: Program): Promise<number> {
  const response = await askBySignal(program, 'SIGWINCH', OLD_SPACE);
  return Number(OLD_SPACE.exec(response)?.[1]);
}
