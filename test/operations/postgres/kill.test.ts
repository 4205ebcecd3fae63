import { afterEach, beforeEach, describe, it } from 'vitest';

import { makeProgramStoreOnPostgres, type ProgramStore } from '../../support/databases.ts';
import { expectOrdersSurvive } from '../../support/kills.ts';
import { killPrograms } from '../../support/program.ts';
import { rounds } from '../../support/rounds.ts';

let store: ProgramStore;
beforeEach(async () => {
  store = await makeProgramStoreOnPostgres();
});
afterEach(async () => {
  await killPrograms();
  await store.remove();
});

describe('a gateway that is killed while it places orders', { timeout: 180_000 }, () => {
  it('has every order that it acknowledged after its next start', async () => {
    await expectOrdersSurvive(store, rounds(1, 10));
  });
});
