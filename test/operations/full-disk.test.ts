import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { expect, it } from 'vitest';

import { useProgramStore } from '../support/databases.ts';
import { ask, type Program, startProgram } from '../support/program.ts';

const store = useProgramStore('PGlite');

const CRASHED = /^The embedded PostgreSQL crashed: could not .+\. Restart the gateway .+$/;
const CREATED = 20;

const CREATE = 'mutation { createCategory(input: { name: "C" }) { ... on Category { id } } }';
const createCategory = async (program: Program): Promise<string> =>
  (await ask(program, CREATE)).createCategory.id;

async function findLost(
  environment: Record<string, string>,
  ids: readonly string[],
): Promise<string[]> {
  const program = await startProgram(environment);
  const fields = ids.map((id) => `c${id}: category(id: "${id}") { id }`).join('\n');
  const response = await ask(program, `{ ${fields} }`);
  expect(await program.stop()).toBe(0);
  return ids.filter((id) => !response[`c${id}`]);
}

// The soak test fills a real disk.
it(
  'a write-ahead log that cannot be written stops the gateway with a message, and loses no acknowledged write',
  { timeout: 120_000 },
  async () => {
    const fault = join(store.environment['DATA_DIR'] ?? '', 'fault');
    const environment = { ...store.environment, SAMPLE_STORE: 'false' };
    const program = await startProgram({
      ...environment,
      NODE_OPTIONS: `--import ${pathToFileURL('test/support/broken-wal.js').href}`,
      WAL_FAULT: fault,
    });
    const ids: string[] = [];
    while (ids.length < CREATED) ids.push(await createCategory(program));
    await writeFile(fault, 'ENOSPC');
    await expect(createCategory(program)).rejects.toBeInstanceOf(Error);
    expect(await program.end).toBe(1);
    expect(program.messages).toContainEqual(expect.stringMatching(CRASHED));
    expect(await findLost(environment, ids)).toEqual([]);
  },
);
