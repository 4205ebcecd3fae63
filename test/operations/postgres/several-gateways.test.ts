import { expect, it } from 'vitest';

import { useProgramStore } from '../../support/databases.ts';
import { ask, failureOf, startProgram } from '../../support/program.ts';

const store = useProgramStore();

it(
  'gateways that start at the same time on an empty database migrate it once and create one sample store',
  { timeout: 120_000 },
  async () => {
    await store.run('drop schema public cascade; create schema public');
    const environment = { ...store.environment, SAMPLE_STORE: 'true' };
    const programs = await Promise.all([startProgram(environment), startProgram(environment)]);
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
  },
);

it('a gateway whose port another gateway uses does not start, and says so', async () => {
  const first = await startProgram(store.environment);
  const { port } = new URL(first.url);
  const messages = await failureOf('main', { ...store.environment, PORT: port });
  const sentence = /^Cannot listen on HOST and PORT: .*EADDRINUSE/;
  expect(messages).toContainEqual(expect.stringMatching(sentence));
  expect(await first.stop()).toBe(0);
});
