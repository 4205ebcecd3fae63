import { expect, it } from 'vitest';

import { useProgramStore } from '../support/databases.ts';
import { post } from '../support/post.ts';
import { startProgram } from '../support/program.ts';

const store = useProgramStore();

it('a gateway reads the statistics of names at its start, and searches for rare words by one plan for all words', async () => {
  await store.run(`insert into categories (name) values ('C')`);
  await store.run(`insert into pets (name, category_id) select 'Pet ' || 1000 + n, 1
    from generate_series(1, 500) as n`);
  await store.run('analyze');
  const program = await startProgram(store.environment);
  const query = '{ pets(filter: { name: "1234" }) { nodes { name } } }';
  const search = async (): Promise<string> => {
    const response = await post(program, { query }, { headers: { 'graphql-explain': 'report' } });
    return response.text();
  };
  await expect.poll(search).toContain(' = any(array(select id from pets_folded_name ');
  expect(await search()).toContain('"nodes":[{"name":"Pet 1234"}]');
});
