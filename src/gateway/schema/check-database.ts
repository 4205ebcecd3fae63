import sql, { raw } from 'sql-template-tag';

import type { Database } from '../database/database.ts';
import { MigrationError, readNames } from '../database/migrations.ts';
import type { Session } from '../database/session.ts';
import type { ListSorts } from '../list/sorts.ts';
import type { Table } from '../model/table.ts';
import type { Log } from '../telemetry/log.ts';
import { compareModel, type ModelTable } from './compare-model.ts';

/** A table with the sorts of its list. */
interface SortedTable extends Table<never> {
  readonly sorts: ListSorts;
}

/** The tables of a store by their types in the schema. */
type Tables = ReadonlyMap<string, ModelTable & SortedTable>;

/** Requires names that PostgreSQL reads without quotes, because statements contain no quotes. */
async function requirePlainNames({ query }: Session, tables: Tables): Promise<void> {
  const names = [...tables.values()].flatMap(({ name, columns, enums }) => [
    name,
    ...Object.values(columns),
    ...enums.map(({ type }) => type),
  ]);
  const [quoted] = await query<{ name: string }>(sql`
    select name from unnest(${names}::text[]) as name where quote_ident(name) <> name limit 1`);
  if (!quoted) return;
  throw new MigrationError(
    `The name ${quoted.name} would need quotes in SQL. Use lower case and no reserved word, with @map or @@map in ` +
      `schema.prisma.`,
  );
}

/** Requires the tables, columns, constraints and enums of the model, as far as this release needs them. */
async function requireModel(
  session: Session,
  tables: Tables,
  migrations: URL,
  log: Log,
): Promise<void> {
  const { missing, different, isAhead } = await compareModel(
    session,
    [...tables.values()],
    await readNames(migrations),
  );
  const wrong = isAhead ? missing : [...missing, ...different];
  if (wrong.length > 0) {
    throw new MigrationError(
      `The database differs from the model in schema.prisma: ${wrong.join('; ')}. Add the missing migration, or undo ` +
        'what changed the database. In development, delete .data to create the database anew.',
    );
  }
  if (different.length === 0) return;
  log.warn(
    `A later release has migrated the database, which differs from this release's model: ${different.join('; ')}.`,
  );
}

/**
 * Requires that triggers record the changes to the rows of each type. Without them, subscriptions would deliver
 * nothing.
 */
async function requireRecorded({ query }: Session, tables: Tables): Promise<void> {
  const types = [...tables.keys()];
  const names = [...tables.values()].map(({ name }) => name);
  const [missing] = await query<{ type: string }>(sql`
    select type from unnest(${types}::text[], ${names}::text[]) as line (type, name)
    where not exists (
      select from pg_trigger join pg_proc on pg_proc.oid = tgfoid
      where tgrelid = to_regclass(name) and tgname = 'record_change'
        and strpos(prosrc, quote_literal(type)) > 0
    ) limit 1`);
  const table = missing && tables.get(missing.type);
  if (!table) return;
  throw new MigrationError(
    `Changes to the table ${table.name} are not recorded. Add this line to a migration: ` +
      `SELECT record_changes_of('${table.name}', '${missing.type}', '${table.id.column}');`,
  );
}

// A node of a plan that sorts. A Merge Append, which reads partitions in order, has a sort key, but sorts nothing.
const SORT = /^(?: *-> +)?(?:Incremental )?Sort$/;

/**
 * Requires an index for each sort. An index on an expression can't be declared in schema.prisma, so this asks PostgreSQL
 * how it would read the rows in order: only without an index does it have to sort them. The session must be a
 * transaction that ends afterwards.
 * @throws MigrationError
 */
export async function requireSortIndexes(
  { query }: Session,
  tables: Iterable<SortedTable>,
): Promise<void> {
  await query(sql`
    select set_config('enable_sort', 'off', true), set_config('enable_seqscan', 'off', true)`);
  for (const { name, id, sorts } of tables) {
    for (const [sort, { field }] of Object.entries(sorts)) {
      const { ownColumn, isNullable, kind } = field;
      const key = kind.sort.sql(ownColumn, isNullable);
      const plan = await query<{ 'QUERY PLAN': string }>(
        sql`explain (costs off) select from ${raw(`${name} order by ${key}, ${id.column}`)}`,
        { planning: 'each' },
      );
      if (!plan.some((line) => SORT.test(line['QUERY PLAN']))) continue;
      throw new MigrationError(
        `The sort ${sort} of ${name} has no valid index. Add this line to a migration: ` +
          `CREATE INDEX ON ${name} ((${key}), ${id.column});`,
      );
    }
  }
}

/**
 * Checks that a database has everything that a store needs.
 * @throws MigrationError
 */
export const checkDatabase = (
  db: Database,
  { migrations, changedTypes }: { readonly migrations: URL; readonly changedTypes: Tables },
  log: Log,
): Promise<void> =>
  db.transaction(async (session) => {
    await session.query(sql`select set_config('quote_all_identifiers', 'off', true)`);
    await requirePlainNames(session, changedTypes);
    await requireModel(session, changedTypes, migrations, log);
    await requireRecorded(session, changedTypes);
    await requireSortIndexes(session, changedTypes.values());
  });
