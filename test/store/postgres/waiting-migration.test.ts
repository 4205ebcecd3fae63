import { expect, it } from 'vitest';

import { openCopyOnPostgres } from '../../support/databases.ts';
import { gateway, useGateway } from '../../support/gateway.ts';
import { makePet } from '../../support/make.ts';
import { holdLock, runSql } from '../../support/postgres.ts';
import { openStore } from '../../support/start.ts';

useGateway({}, openCopyOnPostgres);

const NAME = '20261129190000_drop_unused_indexes';

it('a migration that waits for a long transaction lets requests pass, and is applied after it', async () => {
  const url = gateway.databaseUrl;
  await runSql(
    url,
    `delete from _prisma_migrations where migration_name = '${NAME}';
     create index pets_name_trgm_idx on pets (name)`,
  );
  const end = await holdLock(url, 'select from pets');
  const warnings: unknown[] = [];
  const opening = openStore({ DATABASE_URL: url }, undefined, warnings);
  await expect.poll(() => warnings).toEqual([expect.stringContaining(`Migration ${NAME} waits`)]);
  await makePet(gateway);
  expect(await gateway.data('{ pets(first: 1) { nodes { name } } }')).toMatchObject({ pets: {} });
  await end();
  await (await opening).close();
  const index = "select from pg_class where relname = 'pets_name_trgm_idx'";
  expect(await runSql(url, index)).toEqual([]);
});
