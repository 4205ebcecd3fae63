import { beforeEach, expect, it } from 'vitest';

import { petStore } from '../../../src/store/index.ts';
import { createRoleOn, useCopy } from '../../support/databases.ts';
import { blocksOf, read } from '../../support/documents.ts';
import { sendEveryOperation } from '../../support/every-operation.ts';
import { openAt, startGateway } from '../../support/gateway.ts';
import { deleteChanges, deleteKeys } from '../../support/maintenance.ts';
import { runSql } from '../../support/postgres.ts';
import { warningsAtStart } from '../../support/start.ts';

const url = useCopy();
let role: string;
let href: string;
beforeEach(async () => {
  ({ role, href } = await createRoleOn(url()));
});

const start = (MIGRATE = 'false') => startGateway({ MIGRATE }, openAt(href));

/** Grants the rights in docs/operations.md. */
function grant(): Promise<unknown> {
  const grants = blocksOf(read('docs/operations.md')).find(({ text }) => text.includes('GRANT'));
  return runSql(url(), grants?.text.replaceAll('TO gateway', `TO ${role}`) ?? '');
}

it('a role with the rights in docs/operations.md can execute every operation', async () => {
  await expect(start()).rejects.toThrow('permission denied for table _prisma_migrations');
  await grant();
  const gateway = await start();
  const unexpected: unknown[] = [];
  let queries = 0;
  await sendEveryOperation(petStore.schema, async (query, variables) => {
    if (query.startsWith('subscription')) return undefined;
    if (!query.startsWith('mutation')) queries += 1;
    // These queries read all tables.
    if (!query.startsWith('mutation') && queries > 15) return undefined;
    const { data, errors = [] } = await gateway.graphql(query, { ...variables });
    unexpected.push(...errors.filter(({ extensions }) => extensions.status === 500));
    return data;
  });
  await deleteChanges(gateway, 0);
  await deleteKeys(gateway, 0);
  expect(unexpected).toEqual([]);
  await gateway.close();
});

it('a role that does not own the tables is told what it needs if it is to migrate them', async () => {
  await grant();
  await runSql(
    url(),
    `delete from _prisma_migrations where migration_name ~ 'who_changed';
     grant select on _prisma_migrations to public`,
  );
  await expect(start('true')).rejects.toThrow(
    /(?:permission denied|must be owner).* A role that does not own the tables needs MIGRATE=false and the rights in docs\/operations.md\./,
  );
});

it('a role that lacks rights to rows causes a warning that names them', async () => {
  await grant();
  const environment = { DATABASE_URL: href, MIGRATE: 'false' };
  expect(await warningsAtStart(environment)).toEqual([]);
  await runSql(
    url(),
    `revoke insert on orders from ${role}; revoke delete on changes from ${role};
     revoke usage on sequence pets_id_seq from ${role}`,
  );
  expect(await warningsAtStart(environment)).toEqual([
    `The role ${role} lacks rights, and requests that need them will fail: INSERT on orders, DELETE on changes, USAGE on public.pets_id_seq.`,
  ]);
});

it('a gateway is ready and up if its role may not read pg_stat_activity', async () => {
  await grant();
  await runSql(url(), 'revoke select on pg_stat_activity from public');
  const gateway = await start();
  expect((await gateway.rest('/ready?for=writes')).status).toBe(200);
  const metrics = await (await gateway.rest('/metrics')).text();
  expect(metrics).toContain('\ndatabase_up 1\n');
  await gateway.close();
});

it('a role that reads a table also searches it once a migration has made it searchable', async () => {
  await runSql(url(), `grant select on pets to ${role}`);
  const mayRead = async (table: string): Promise<unknown> =>
    (await runSql(url(), `select has_table_privilege('${role}', '${table}', 'select') as may`))[0];
  expect(await mayRead('pets_folded_name')).toEqual({ may: false });
  await runSql(url(), `select make_searchable('pets', 'id', 'name')`);
  expect(await mayRead('pets_folded_name')).toEqual({ may: true });
  expect(await mayRead('categories_folded_name')).toEqual({ may: false });
});

it('a role that writes rows cannot run its own functions with the rights of the triggers’ owner', async () => {
  await runSql(
    url(),
    `create schema own authorization ${role};
     grant insert, update, delete on all tables in schema public to ${role};
     grant select on pets, categories to ${role};
     grant usage on all sequences in schema public to ${role}`,
  );
  const own = (name: string): string =>
    `create function own.${name}(pg_catalog.text) returns pg_catalog.text language plpgsql as $$ begin
       if current_user <> '${role}' then raise exception 'own.${name} ran as %', current_user; end if;
       return pg_catalog.lower($1); end $$;`;
  // A temporary type hides even those of pg_catalog, and so does a schema that precedes it in the search path.
  const written = runSql(
    url(),
    `set role ${role};
     ${own('text')} ${own('lower')}
     create domain pg_temp.text as pg_catalog.text check (own.text(value) is not null);
     create domain pg_temp.json as pg_catalog.json check (own.text(value::pg_catalog.text) is not null);
     set search_path = own, pg_catalog, public;
     insert into categories (name) values ('Zoé');
     update categories set name = 'Zoë' where name = 'Zoé';
     delete from categories where name = 'Zoë' returning name`,
  );
  await expect(written).resolves.toEqual([{ name: 'Zoë' }]);
});
