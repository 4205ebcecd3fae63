import sql from 'sql-template-tag';

import { onlyRow, type Session } from '../database/session.ts';
import type { Field, StoredTable } from '../model/stored-table.ts';

/** What schema.prisma says about a table. */
export type ModelTable = Pick<
  StoredTable<object>,
  'name' | 'fields' | 'foreignKeys' | 'uniques' | 'enums'
>;

const fieldsOf = ({ fields }: ModelTable): Field[] => Object.values(fields);

/** A table in the database. Names of several columns are sorted and joined. */
interface Found {
  /** Null if there is no such table. */
  readonly columns: Readonly<Record<string, { type: string; isRequired: boolean }>> | null;
  readonly uniques: readonly string[];
  readonly foreignKeys: readonly { columns: string; parent: string; onDelete: string }[];
}

interface Catalogue {
  readonly tables: Readonly<Record<string, Found>> | null;
  readonly enums: Readonly<Record<string, readonly string[]>> | null;
  readonly isAhead: boolean;
}

const join = (names: readonly string[]): string => names.toSorted().join(', ');

/** Reads what the database has of some tables and enums, whose names need no quotes. */
const readCatalogue = async (
  { query }: Session,
  tables: readonly string[],
  enums: readonly string[],
  migrations: readonly string[],
): Promise<Catalogue> =>
  onlyRow(
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

// A string can be stored in a wider column than the model's.
const LENGTH = /^(?:text|character varying(?:\((\d+)\))?)$/;
function lengthOf(type: string): number {
  const [text, length = Infinity] = LENGTH.exec(type) ?? [];
  return text === undefined ? Number.NaN : Number(length);
}
const fits = (type: string, model: string): boolean =>
  type === model || lengthOf(type) >= lengthOf(model);

function* compareColumns(table: ModelTable, columns: NonNullable<Found['columns']>) {
  for (const { column, ownColumn, columnType, isNullable } of fieldsOf(table)) {
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

function* compareKeys(table: ModelTable, found: Found) {
  const { name, uniques, foreignKeys } = table;
  const single = fieldsOf(table).filter(({ isUnique }) => isUnique);
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

function* compareEnums({ enums }: ModelTable, found: Catalogue) {
  for (const { type, values } of enums) {
    const known = found.enums?.[type]?.filter((value) => values.includes(value)) ?? [];
    if (known.length < values.length || known.join() === values.join()) continue;
    yield `the type ${type} has the order ${known.join(', ')}, but ${values.join(', ')} in the model`;
  }
}

function findMissing(table: ModelTable, found: Catalogue): string[] {
  const { name, enums } = table;
  const columns = found.tables?.[name]?.columns;
  if (!columns) return [`there is no table ${name}`];
  return [
    ...fieldsOf(table)
      .filter(({ ownColumn }) => !columns[ownColumn])
      .map(({ ownColumn, columnType }) => `${name} has no column ${ownColumn} (${columnType})`),
    ...enums.flatMap(({ type, values }) =>
      values
        .filter((value) => !found.enums?.[type]?.includes(value))
        .map((value) => `the type ${type} has no value ${value}`),
    ),
  ];
}

/**
 * Compares the model with the database, in one statement. The database may have more columns and values.
 * `migrations` are the names of this release's migrations.
 */
export async function compareModel(
  session: Session,
  tables: readonly ModelTable[],
  migrations: readonly string[],
) {
  const enums = tables.flatMap((table) => table.enums);
  const catalogue = await readCatalogue(
    session,
    tables.map(({ name }) => name),
    enums.map(({ type }) => type),
    migrations,
  );
  return {
    /** What statements of this release need. */
    missing: [...new Set(tables.flatMap((table) => findMissing(table, catalogue)))],
    /** What a later release may have changed. */
    different: tables.flatMap((table) => {
      const found = catalogue.tables?.[table.name];
      if (!found?.columns) return [];
      return [
        ...compareColumns(table, found.columns),
        ...compareKeys(table, found),
        ...compareEnums(table, catalogue),
      ];
    }),
    /** Whether a later release has migrated the database. */
    isAhead: catalogue.isAhead,
  };
}
