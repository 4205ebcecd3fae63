import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { useProgramStore } from '../support/databases.ts';
import { useFolder } from '../support/folders.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { changed, follow } from '../support/live.ts';
import { makeCategory } from '../support/make.ts';
import { runSql } from '../support/postgres.ts';
import { startProgram } from '../support/program.ts';
import { lastCursor } from '../support/settled.ts';

const EXPIRED = [{ extensions: { code: 'CURSOR_EXPIRED' } }];

const startOn = (DATA_DIR: string): Promise<Gateway> =>
  startGateway({ DATA_DIR, SAMPLE_STORE: 'false' });

const copy = (from: string, to: string): void => {
  execFileSync('rm', ['-rf', to]);
  execFileSync('cp', ['-a', from, to]);
};

const FIELD = 'categoryChanged(after: $after) { cursor after { name } }';

/** Returns a cursor's position in the change log, without the time. */
const positionOf = (cursor: string): unknown[] =>
  JSON.parse(Buffer.from(cursor, 'base64url').toString()).slice(0, 3);

const store = useProgramStore();

it('a dump with the change log of another database loses its change log when a gateway starts, so that all of its cursors expire', async () => {
  await store.run(`insert into changes (transaction, type, row_id, kind)
    values (1, 'Category', 1, 'deleted'), (1000000000000, 'Category', 2, 'deleted')`);
  const program = await startProgram(store.environment);
  await expect.poll(() => runSql(store.url, 'select from changes')).toEqual([]);
  await program.stop();
});

describe('after a restore of a copy of DATA_DIR', () => {
  let gateway: Gateway;
  const copies = useFolder();
  /** The cursors of a change that the copy contains, and of one that it does not contain. */
  let kept: string;
  let lost: string;

  beforeAll(async () => {
    const backup = join(copies, 'backup');
    const folder = join(copies, 'store');
    gateway = await startOn(folder);
    await makeCategory(gateway, 'kept');
    kept = await lastCursor(gateway);
    await gateway.close();
    copy(folder, backup);
    gateway = await startOn(folder);
    await makeCategory(gateway, 'lost');
    lost = await lastCursor(gateway);
    await gateway.close();
    copy(backup, folder);
    gateway = await startOn(folder);
    await makeCategory(gateway, 'in its place');
  }, 120_000);
  afterAll(() => gateway.close());

  it('a client that resumes after a lost change receives CURSOR_EXPIRED, although another change has its position', async () => {
    expect(positionOf(await lastCursor(gateway))).toEqual(positionOf(lost));
    await makeCategory(gateway, 'later');
    expect(await (await follow(gateway, FIELD, lost)).rest()).toMatchObject([{ errors: EXPIRED }]);
    for (const range of ['first: 1, after', 'last: 1, before']) {
      const query = `query ($cursor: String) { changes(${range}: $cursor) { nodes { cursor } } }`;
      const { errors } = await gateway.graphql(query, { cursor: lost });
      expect(errors).toMatchObject(EXPIRED);
    }
  });

  it('a client that resumes after a change in the copy receives all changes', async () => {
    const stream = await follow(gateway, FIELD, kept);
    expect((await changed(stream)).after.name).toBe('in its place');
  });
});
