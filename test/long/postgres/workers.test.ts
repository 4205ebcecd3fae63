import { execFileSync } from 'node:child_process';

import { afterAll, describe, expect, it } from 'vitest';

import { copyOnPostgres } from '../../support/databases.ts';
import { runSql } from '../../support/postgres.ts';
import { killPrograms, startProgram } from '../../support/program.ts';

afterAll(killPrograms);

describe('workers that cannot start any more', { timeout: 300_000 }, () => {
  it('end the gateway with a sentence, after later and later restarts', async () => {
    const { url, drop } = await copyOnPostgres();
    const program = await startProgram({ DATABASE_URL: url, WORKERS: '2' });
    await runSql(url, 'alter table _prisma_migrations rename to gone');
    execFileSync('pkill', ['-KILL', '-P', String(program.process.pid)]);
    expect(await program.end).toBe(1);
    expect(program.messages.at(-1)).toBe(
      'No worker stays alive: the last 9 died soon after their start. Giving up.',
    );
    const deaths = program.entries.filter(({ msg }) => /^Worker \d+ died/.test(msg));
    expect(deaths).toHaveLength(8);
    // Two workers at a time; what comes between is a pause and a start.
    const [, second = 0, third = 0, fourth = 0] = deaths
      .filter((_death, index) => index % 2 === 1)
      .map(({ time }) => Date.parse(String(time)));
    expect(third - second).toBeGreaterThan(1900);
    expect(fourth - third).toBeGreaterThan(3900);
    await drop();
  });
});
