import { expect } from 'vitest';

import { ask, type Program, startProgram } from './program.ts';

/** What a gateway logs before it ends because its embedded database can't write. */
export const CRASHED = /^The embedded PostgreSQL crashed: could not .+\. Restart the gateway .+$/;

/** Creates categories until the gateway ends; returns the ids that it acknowledged. */
export async function createUntilEnd(
  program: Program,
  onCreated?: (ids: readonly string[]) => Promise<void>,
): Promise<string[]> {
  const ids: string[] = [];
  const query = 'mutation { createCategory(input: { name: "C" }) { ... on Category { id } } }';
  while (program.process.exitCode === null) {
    type Answer = { createCategory: { id: string } } | null;
    const answer = await ask<Answer>(program, query).catch(() => null);
    if (answer) ids.push(answer.createCategory.id);
    await onCreated?.(ids);
  }
  return ids;
}

/** Returns those ids that a gateway with this store does not have. */
export async function findLost(
  environment: Record<string, string>,
  ids: readonly string[],
): Promise<string[]> {
  const program = await startProgram(environment);
  const fields = ids.map((id) => `c${id}: category(id: "${id}") { id }`).join('\n');
  const answer = await ask<Record<string, object | null>>(program, `{ ${fields} }`);
  expect(await program.stop()).toBe(0);
  return ids.filter((id) => !answer[`c${id}`]);
}
