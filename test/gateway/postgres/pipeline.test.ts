import { beforeAll, expect, it } from 'vitest';

import { useProgramStore } from '../../support/databases.ts';
import { post } from '../../support/post.ts';
import { startTraced } from '../../support/traced-program.ts';

// A request should be easy to follow. These are the maximum number of files in which a small query runs code, and the
// maximum number of moves from one folder to another if the files are in the order of their first call. A change that
// lowers the figures should lower these bounds too.
const MAX_FILES = 34;
const MAX_CHANGES_OF_FOLDER = 14;

/** Returns the folder of a file: a folder of the gateway, or of the store. */
const folderOf = (file: string): string => file.split('/').slice(0, 2).join('/');

/** The number of moves from one folder to another. */
function changesIn(files: readonly string[]): number {
  const folders = files.map(folderOf);
  return folders.filter((folder, index) => index > 0 && folder !== folders[index - 1]).length;
}

/** The files that ran, in the order of their first call. */
let files: readonly string[];
let data: unknown;
const store = useProgramStore();
beforeAll(async () => {
  const { url, close } = await startTraced({ ...store.environment, SAMPLE_STORE: 'true' });
  // The first query does one-time work, such as opening a connection.
  await (await post({ url }, { query: '{ category(id: 1) { pets { nodes { name } } } }' })).text();
  // Each document is new, so none is cached. The shortest trace is used: longer ones may contain code that a timer ran.
  const traces: string[][] = [];
  for (let time = 1; time <= 5; time += 1) {
    tracedFiles.clear();
    const query = `{ pet(id: 1) { name category { name } } } #${time}`;
    data = await (await post({ url }, { query })).json();
    traces.push([...tracedFiles]);
  }
  [files = []] = traces.toSorted((a, b) => a.length - b.length || changesIn(a) - changesIn(b));
  return close;
});

it(`a small query runs code in at most ${MAX_FILES} source files, and moves from one folder to another at most ${MAX_CHANGES_OF_FOLDER} times`, () => {
  expect(data).toMatchObject({ data: { pet: { category: { name: expect.any(String) } } } });
  // Compares the files, not their number, so that a failure shows them.
  expect(files.length > MAX_FILES ? files : []).toEqual([]);
  expect(changesIn(files) > MAX_CHANGES_OF_FOLDER ? files : []).toEqual([]);
});
