import { expect, inject, it } from 'vitest';

import { createDatabaseOn, dropDatabaseOn } from '../../support/postgres.ts';
import { ask, spawnProgram, startProgram } from '../../support/program.ts';

it(
  'gateways that start at the same time on an empty database migrate it once and create one sample store',
  { timeout: 120_000 },
  async () => {
    const { server } = inject('emptyPostgres');
    const empty = await createDatabaseOn(server);
    const programs = await Promise.all(
      Array.from({ length: 2 }, () => startProgram({ DATABASE_URL: empty, SAMPLE_STORE: 'true' })),
    );
    const messages = programs.flatMap((started) => started.messages);
    const applied = messages.filter((message) => message.startsWith('Applied migration'));
    expect(applied.length).toBe(new Set(applied).size);
    expect(applied.length).toBeGreaterThan(1);
    expect(messages.filter((message) => message === 'Filled the sample store.')).toHaveLength(1);
    for (const started of programs) {
      expect(await ask(started, '{ categories { totalCount } }')).toEqual({
        categories: { totalCount: 10 },
      });
      expect(await started.stop()).toBe(0);
    }
    await dropDatabaseOn(server, empty);
  },
);

it('a gateway whose port another gateway uses does not start, and says so', async () => {
  const { server } = inject('emptyPostgres');
  const url = await createDatabaseOn(server);
  const first = await startProgram({ DATABASE_URL: url });
  const { port } = new URL(first.url);
  const second = spawnProgram('main', { DATABASE_URL: url, PORT: port });
  expect(await second.end).toBe(1);
  const sentence = /^Cannot listen on HOST and PORT: .*EADDRINUSE/;
  expect(second.messages).toContainEqual(expect.stringMatching(sentence));
  expect(await first.stop()).toBe(0);
  await dropDatabaseOn(server, url);
});
