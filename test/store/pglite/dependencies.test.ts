import { readFile } from 'node:fs/promises';

import { expect, inject, it, vi } from 'vitest';

import { createPglite } from '../../../src/gateway/database/embedded/pglite.ts';

it('PGlite sends the messages of every statement through its own execProtocolRaw', async () => {
  const loadDataDir = new Blob([await readFile(inject('emptyPglite'))]);
  const pglite = await createPglite({ loadDataDir });
  const send = vi.spyOn(pglite, 'execProtocolRaw');
  const run = [
    () => pglite.query('select $1::text', ['a']),
    () => pglite.exec('select 1'),
    () => pglite.transaction((session) => session.query('select 1')),
  ];
  for (const statement of run) {
    send.mockClear();
    await statement();
    expect(send).toHaveBeenCalled();
  }
  await pglite.close();
});
