import sql from 'sql-template-tag';

import { MigrationError, readNames } from '../database/migrations.ts';
import { onlyRow, type Session } from '../database/session.ts';
import type { Field } from '../model/stored-table.ts';
import type { Repository } from '../repository.ts';
import type { Log } from '../telemetry/log.ts';

const columnsInModel = ({ fields }: Repository): Field[] => Object.values(fields);

/** A table in the database. Names of several columns are sorted and joined. */
interface FoundTable {
  /** Null if there is no such table. */
  readonly columns: Readonly<Record<string, { type: string; isRequired: boolean }>> | null;
  readonly uniques: readonly string[];
  readonly foreignKeys: readonly { columns: string; parent: string; onDelete: string }[];
}

interface Catalogue {
  readonly tables: Readonly<Record<string, FoundTable>> | null;
  readonly enums: Readonly<Record<string, readonly string[]>> | null;
  readonly isAhead: boolean;
}

const join = (names: readonly string[]): string => names.toSorted().join(', ');

/** Reads what the database has of some tables and enums, whose names need no quotes. */
async function readCatalogue(
  { query }: Session,
  repositories: readonly Repository[],
  migrations: readonly string[],
): Promise<Catalogue> {
  const tables = repositories.map(({ name }) => name);
  const enums = repositories.flatMap((each) => each.enums.map(({ type }) => type));
  return onlyRow(
    await query<Catalogue>(sql`
      select
        (select json_object_agg(name, json_build_object(
          'columns', (
            select json_object_agg(attname, json_build_object(
              'type', format_type(atttypid, atttypmod), 'isRequired', attnotnull))
            from pg_attribute where attrelid = id and attnum > 0 and not attisdropped),
          'uniques', array(
            select (
              select string_agg(attname, ', ' order by attname) from pg_attribute
              where attrelid = id and attnum = any ((indkey::int2[])[0:indnkeyatts - 1]))
            from pg_index
            where indrelid = id and indisunique and indisvalid and indpred is null and indexprs is null),
          'foreignKeys', array(
            select json_build_object(
              'columns', (
                select string_agg(attname, ', ' order by attname) from pg_attribute
                where attrelid = id and attnum = any (conkey)),
              'parent', confrelid::regclass,
              'onDelete', case confdeltype when 'a' then 'NO ACTION' when 'r' then 'RESTRICT'
                when 'c' then 'CASCADE' when 'n' then 'SET NULL' else 'SET DEFAULT' end)
            from pg_constraint where conrelid = id and contype = 'f')))
          from unnest(${tables}::text[]) as name, to_regclass(name) as id) as tables,
        (select json_object_agg(name, array(
            select enumlabel from pg_enum where enumtypid = to_regtype(name) order by enumsortorder))
          from unnest(${enums}::text[]) as name) as enums,
        exists (
          select from _prisma_migrations
          where rolled_back_at is null and migration_name <> all (${migrations}::text[])) as "isAhead"`),
  );
}

// A string can be stored in a wider column than the model's.
const LENGTH = /^(?:text|character varying(?:\((\d+)\))?)$/;
function lengthOf(type: string): number {
  const [text, length = Infinity] = LENGTH.exec(type) ?? [];
  return text === undefined ? Number.NaN : Number(length);
}
const fits = (type: string, model: string): boolean =>
  type === model || lengthOf(type) >= lengthOf(model);

function* compareColumns(table: Repository, columns: NonNullable<FoundTable['columns']>) {
  for (const { column, ownColumn, columnType, isNullable } of columnsInModel(table)) {
    const found = columns[ownColumn];
    if (!found) continue;
    if (!fits(found.type, columnType)) {
      yield `${column} has the type ${found.type}, but ${columnType} in the model`;
    }
    if (found.isRequired === isNullable) {
      yield isNullable
        ? `${column} is NOT NULL, but may be null in the model`
        : `${column} may be null, but is required in the model`;
    }
  }
}

function* compareKeys(table: Repository, found: FoundTable) {
  const { name, uniques, foreignKeys } = table;
  const single = columnsInModel(table).filter(({ isUnique }) => isUnique);
  for (const key of [...single.map((field) => [field]), ...uniques]) {
    const columns = join(key.map(({ ownColumn }) => ownColumn));
    if (!found.uniques.includes(columns)) {
      yield `${name} (${columns}) has no unique index, but is unique in the model`;
    }
  }
  for (const { columns, parent, onDelete } of foreignKeys) {
    const key = join(columns);
    const known = found.foreignKeys.filter((one) => one.columns === key && one.parent === parent);
    if (known.some((one) => one.onDelete === onDelete)) continue;
    const has = known[0] ? `has ON DELETE ${known[0].onDelete}` : 'has no foreign key';
    yield `${name} (${key}) ${has}, but refers to ${parent} with ON DELETE ${onDelete} in the model`;
  }
}

function* compareEnums({ enums }: Repository, found: Catalogue) {
  for (const { type, values } of enums) {
    const known = found.enums?.[type]?.filter((value) => values.includes(value)) ?? [];
    if (known.length < values.length || known.join() === values.join()) continue;
    yield `the type ${type} has the order ${known.join(', ')}, but ${values.join(', ')} in the model`;
  }
}

function* findMissing(table: Repository, found: Catalogue): Generator<string> {
  const { name, enums } = table;
  const columns = found.tables?.[name]?.columns;
  if (!columns) {
    yield `there is no table ${name}`;
    return;
  }
  for (const { ownColumn, columnType } of columnsInModel(table)) {
    if (!columns[ownColumn]) yield `${name} has no column ${ownColumn} (${columnType})`;
  }
  for (const { type, values } of enums) {
    for (const value of values) {
      if (!found.enums?.[type]?.includes(value)) yield `the type ${type} has no value ${value}`;
    }
  }
}

/** Finds what a later release may have changed. */
function* findDifferent(table: Repository, catalogue: Catalogue) {
  const found = catalogue.tables?.[table.name];
  if (!found?.columns) return;
  yield* compareColumns(table, found.columns);
  yield* compareKeys(table, found);
  yield* compareEnums(table, catalogue);
}

/**
 * Requires the tables, columns, constraints and enums of the model, as far as this release needs them. The database may
 * have more columns and values.
 * @throws MigrationError
 */
export async function requireModel(
  session: Session,
  repositories: readonly Repository[],
  migrations: URL,
  log: Log,
): Promise<void> {
  const catalogue = await readCatalogue(session, repositories, await readNames(migrations));
  const missing = [...new Set(repositories.flatMap((each) => [...findMissing(each, catalogue)]))];
  const different = repositories.flatMap((each) => [...findDifferent(each, catalogue)]);
  const wrong = catalogue.isAhead ? missing : [...missing, ...different];
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
