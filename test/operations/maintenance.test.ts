import { beforeAll, describe, expect, it } from 'vitest';

import { useProgram, useProgramStore } from '../support/databases.ts';
import { readMetrics, sumOf } from '../support/metrics.ts';
import { post } from '../support/post.ts';

const store = useProgramStore();

const addChanges = (ago: string): Promise<unknown> =>
  store.run(`
    insert into categories (name) select 'C' from generate_series(1, 10);
    update changes set changed_at = now() - interval '${ago}'
    where transaction = (select max(transaction) from changes)`);

beforeAll(async () => {
  await store.run(`
    insert into categories (name) values ('C');
    insert into pets (name, category_id) select 'Pet ' || 1000 + n, 1 from generate_series(1, 500) n;
    delete from changes`);
  for (const ago of ['3 days', '-400 days', '2 days', '3 hours', '0']) await addChanges(ago);
  await store.run('analyze');
});

describe('a gateway that starts', () => {
  const program = useProgram(store);
  const read = async (name: string) => sumOf(await readMetrics(program), name);

  it('deletes the changes that are older than CHANGES_HOURS, even if the clock was wrong for a time, and reports how large and old the log is', async () => {
    await expect.poll(() => read('change_log_rows')).toBe(50);
    const hours = (await read('change_log_age_seconds')) / 3600;
    expect(hours).toBeGreaterThanOrEqual(3);
    expect(hours).toBeLessThan(4);
  });

  it('reads the statistics of names, and searches for rare words by one plan for all words', async () => {
    const query = '{ pets(filter: { name: "1234" }) { nodes { name } } }';
    const search = async (): Promise<string> => {
      const response = await post(program, { query }, { headers: { 'graphql-explain': 'report' } });
      return response.text();
    };
    await expect.poll(search).toContain(' = any(array(select id from pets_folded_name ');
    expect(await search()).toContain('"nodes":[{"name":"Pet 1234"}]');
  });
});
