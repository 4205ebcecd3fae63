import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';

import { createPglite, migratePglite } from '../../src/database/pglite.ts';
import { copyTemplate } from '../../src/database/template.ts';
import { createLog } from '../../src/telemetry/log.ts';

/** Creates a migrated store for a program and runs SQL on it. Cheaper than `npm run migrate`. */
export async function prepareStore(dataDir: string, sql: string): Promise<void> {
  const store = join(dataDir, 'pglite');
  await mkdir(dataDir, { recursive: true });
  copyTemplate(store);
  const pglite = await createPglite({ dataDir: store });
  await migratePglite(pglite, createLog('error'));
  await pglite.exec(sql);
  await pglite.close();
}
