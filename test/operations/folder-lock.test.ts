import { describe, expect, it } from 'vitest';

import { useProgramStore } from '../support/databases.ts';
import {
  failureOf,
  isReady,
  type Program,
  spawnProgram,
  startProgram,
} from '../support/program.ts';

const STARTS = 5;
const IN_USE =
  'DATA_DIR is in use by another gateway. Stop that gateway, or choose another folder.';

const store = useProgramStore('PGlite');

it('a gateway on a system without a native file lock exits with a message that advises choosing another folder or setting DATABASE_URL', async () => {
  const preload = `data:text/javascript,Object.defineProperty(process,'arch',{value:'none'})`;
  const environment = { ...store.environment, NODE_OPTIONS: `--import ${preload}` };
  const message = /^DATA_DIR can't be locked: .+\. Choose another folder, or set DATABASE_URL\.$/;
  expect(await failureOf('main', environment)).toEqual([expect.stringMatching(message)]);
});

describe(
  "several gateways that start at the same time in a killed gateway's data folder",
  { timeout: 120_000 },
  () => {
    it('let exactly one of them use the folder', async () => {
      const environment = { ...store.environment, SAMPLE_STORE: 'false' };
      await (await startProgram(environment)).stop('SIGKILL');
      const winners: Program[] = [];
      const losers: string[][] = [];
      const start = async (): Promise<void> => {
        const program = spawnProgram('main', environment);
        await program.logged(/^Listening/).then(
          () => winners.push(program),
          () => losers.push(program.messages),
        );
      };
      await Promise.all(Array.from({ length: STARTS }, start));
      expect(losers).toEqual(Array.from({ length: STARTS - 1 }, () => [IN_USE]));
      expect(await isReady(winners[0]?.url ?? '')).toBe(true);
    });
  },
);
