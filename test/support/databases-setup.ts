import type { TestProject } from 'vitest/node';

import { setUpPglite } from './pglite-setup.ts';
import { setUpPostgres } from './postgres-setup.ts';

const SET_UPS = { PGlite: setUpPglite, PostgreSQL: setUpPostgres };

/** Creates the empty databases of a Vitest project, which its tests copy. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { databases } = project.getProvidedContext();
  const removals = await Promise.all(databases.map((database) => SET_UPS[database](project)));
  return async () => {
    await Promise.all(removals.map((remove) => remove()));
  };
}
