import { beforeAll, expect, it } from 'vitest';

import { useProgramStore } from '../../support/databases.ts';
import { post } from '../../support/post.ts';
import { startTraced } from '../../support/traced-program.ts';

// A request should be easy to follow. This is the maximum number of files of which a small query runs code. A change that
// lowers the figure should lower this bound too.
const MAX_FILES = 34;

let files: readonly string[] = [];
let data: unknown;
const store = useProgramStore();
beforeAll(async () => {
  const traced = await startTraced({ ...store.environment, SAMPLE_STORE: 'true' });
  const ask = async (query: string): Promise<unknown> => (await post(traced, { query })).json();
  // The first query does one-time work, such as opening a connection.
  await ask('{ category(id: 1) { pets { nodes { name } } } }');
  // Each document is new, so none is cached. The fewest files are used: more may be those of code that a timer ran.
  const traces: string[][] = [];
  for (let time = 1; time <= 5; time += 1) {
    await traced.takeFiles();
    data = await ask(`{ pet(id: 1) { name category { name } } } #${time}`);
    traces.push(await traced.takeFiles());
  }
  [files = []] = traces.toSorted((a, b) => a.length - b.length);
  return traced.close;
});

it(`a small query runs code in at most ${MAX_FILES} source files`, () => {
  expect(data).toMatchObject({ data: { pet: { category: { name: expect.any(String) } } } });
  expect(files.length).toBeGreaterThan(20);
  // Compares the files, not their number, so that a failure shows them.
  expect(files.length > MAX_FILES ? files : []).toEqual([]);
});
