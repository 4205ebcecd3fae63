import { expect, it } from 'vitest';

import { useProgramStore } from '../support/databases.ts';
import { readMetrics, sumOf } from '../support/metrics.ts';
import { startProgram } from '../support/program.ts';

const store = useProgramStore();

/** Adds changes to the log, made this long ago. */
const addChanges = (ago: string): Promise<unknown> =>
  store.run(`
    insert into categories (name) select 'C' from generate_series(1, 10);
    update changes set changed_at = now() - interval '${ago}'
    where transaction = (select max(transaction) from changes)`);

it('a gateway that starts on a change log with changes older than CHANGES_HOURS deletes them, even if the clock was wrong for a time, and reports how large and old the log is', async () => {
  for (const ago of ['3 days', '-400 days', '2 days', '3 hours', '0']) await addChanges(ago);
  await store.run('analyze changes');
  const program = await startProgram(store.environment);
  const read = async (name: string) => sumOf(await readMetrics(program), name);
  await expect.poll(() => read('change_log_rows')).toBe(50);
  const hours = (await read('change_log_age_seconds')) / 3600;
  expect(hours).toBeGreaterThanOrEqual(3);
  expect(hours).toBeLessThan(4);
});
