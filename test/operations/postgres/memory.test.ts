import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { makeProgramStoreOnPostgres, type ProgramStore } from '../../support/databases.ts';
import { expectFewKept, LITTLE_MEMORY } from '../../support/memory.ts';
import { killPrograms, startProgram } from '../../support/program.ts';

let store: ProgramStore;
beforeAll(async () => {
  store = await makeProgramStoreOnPostgres();
});
afterAll(async () => {
  await killPrograms();
  await store.remove();
});

// test/long/hostile-load.test.ts measures the memory after other hostile requests too.
describe('a gateway with little memory', () => {
  it('keeps few of many long documents', async () => {
    const program = await startProgram({ ...store.environment, ...LITTLE_MEMORY });
    await expectFewKept(program);
    expect(await program.stop()).toBe(0);
  });
});
