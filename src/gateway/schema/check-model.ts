import sql from 'sql-template-tag';

import { MigrationError, readNames } from '../database/migrations.ts';
import { onlyRow, type Session } from '../database/session.ts';
import type { Field } from '../model/stored-table.ts';
import type { Repository } from '../repository.ts';
import type { Log } from '../telemetry/log.ts';

/** A part of the database, such as a column, with what the model says about it. */
interface ModelPart {
  /** The name that readParts gives it. Names of several columns are sorted. */
  readonly name: string;
  readonly wanted: string;
  /** Whether statements fail without it. */
  readonly isNeeded: boolean;
}

const join = (names: readonly string[]): string => names.toSorted().join(', ');

/** Returns the parts of a table in the model, each once. */
function partsOf({ name, fields, enums, uniques, foreignKeys }: Repository): ModelPart[] {
  const columns: Field[] = Object.values(fields);
  const single = columns.filter(({ isUnique }) => isUnique).map((field) => [field]);
  return [
    ...columns.map(({ column, columnType, isNullable }) => ({
      name: `column ${column}`,
      wanted: `${columnType}${isNullable ? '' : ' NOT NULL'}`,
      isNeeded: true,
    })),
    ...enums.flatMap(({ type, values }) =>
      values.map((value, index) => ({
        name: `value ${value} of ${type}`,
        wanted: index === 0 ? 'first' : `after ${values[index - 1]}`,
        isNeeded: true,
      })),
    ),
    ...[...single, ...uniques].map((key) => ({
      name: `index on ${name} (${join(key.map(({ ownColumn }) => ownColumn))})`,
      // With another collation, an update of the C library or of ICU could let two rows have the same string.
      wanted: key.some(({ type }) => type === 'String') ? 'UNIQUE COLLATE "C"' : 'UNIQUE',
      isNeeded: false,
    })),
    ...foreignKeys.map(({ columns: key, parent, onDelete }) => ({
      name: `foreign key of ${name} (${join(key)}) to ${parent}`,
      wanted: `ON DELETE ${onDelete}`,
      isNeeded: false,
    })),
  ];
}

interface Catalogue {
  /** What the database has, by the names of the parts. Of an enum, only the model's values count. */
  readonly parts: Readonly<Record<string, string>> | null;
  /** Whether a later release has migrated the database. */
  readonly isAhead: boolean;
}

/**
 * Reads what the database has of some tables and enums, whose names need no quotes. Of several parts with a name, the last
 * counts: of two indexes, the one with the collation "C".
 */
async function readParts(
  { query }: Session,
  repositories: readonly Repository[],
  migrations: readonly string[],
): Promise<Catalogue> {
  const tables = repositories.map(({ name }) => name);
  const enums = repositories
    .flatMap((each) => each.enums)
    .map(({ type, values }) => [type, values]);
  return onlyRow(
    await query<Catalogue>(sql`
      with tables as (
        select name, to_regclass(name) as id from unnest(${tables}::text[]) as name
      ), parts as (
        select concat('column ', name, '.', attname) as name,
          format_type(atttypid, atttypmod) || case when attnotnull then ' NOT NULL' else '' end as found
        from tables join pg_attribute on attrelid = id and attnum > 0 and not attisdropped
        union all
        select format('value %s of %s', enumlabel, name),
          coalesce('after ' || lag(enumlabel) over (partition by name order by enumsortorder), 'first')
        from json_each(${JSON.stringify(Object.fromEntries(enums))}::text::json) as enum (name, known)
        join pg_enum on enumtypid = to_regtype(name)
        where enumlabel in (select json_array_elements_text(known))
        union all
        select format('index on %s (%s)', name, (
          select string_agg(attname, ', ' order by attname) from pg_attribute
          where attrelid = id and attnum = any ((indkey::int2[])[0:indnkeyatts - 1]))),
          'UNIQUE' || (select case when bool_and(own = '"C"'::regcollation) then ' COLLATE "C"' else '' end
            from unnest(indcollation) as own where own <> 0)
        from tables join pg_index on indrelid = id
        where indisunique and indisvalid and indpred is null and indexprs is null
        union all
        select format('foreign key of %s (%s) to %s', name, (
          select string_agg(attname, ', ' order by attname) from pg_attribute
          where attrelid = id and attnum = any (conkey)), confrelid::regclass),
          'ON DELETE ' || case confdeltype when 'a' then 'NO ACTION' when 'r' then 'RESTRICT'
            when 'c' then 'CASCADE' when 'n' then 'SET NULL' else 'SET DEFAULT' end
        from tables join pg_constraint on conrelid = id and contype = 'f'
      )
      select (select json_object_agg(name, found order by found) from parts) as parts, exists (
        select from _prisma_migrations
        where rolled_back_at is null and migration_name <> all (${migrations}::text[])) as "isAhead"`),
  );
}

const TEXT = /^(?:text|character varying(?:\((\d+)\))?)( NOT NULL)?$/;

/** Whether a part is as the model wants it. A string can be stored in a wider column than the model's. */
function fits(found: string, wanted: string): boolean {
  const text = TEXT.exec(found);
  const wantedText = TEXT.exec(wanted);
  if (!text || !wantedText) return found === wanted;
  const [, length = Infinity, notNull] = text;
  const [, wantedLength = Infinity, wantedNotNull] = wantedText;
  return Number(length) >= Number(wantedLength) && notNull === wantedNotNull;
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
  const { parts, isAhead } = await readParts(session, repositories, await readNames(migrations));
  const different = repositories.flatMap(partsOf).flatMap(({ name, wanted, isNeeded }) => {
    const found = parts?.[name];
    if (found !== undefined && fits(found, wanted)) return [];
    const text = `${name} is ${found ?? 'missing'}, but ${wanted} in the model`;
    return { text, isFatal: !isAhead || (isNeeded && found === undefined) };
  });
  const isFatal = different.some((one) => one.isFatal);
  const texts = new Set(different.filter((one) => one.isFatal === isFatal).map(({ text }) => text));
  if (texts.size === 0) return;
  const listed = [...texts].join('; ');
  if (isFatal) {
    throw new MigrationError(
      `The database differs from the model in schema.prisma: ${listed}. Add the missing migration, or undo ` +
        'what changed the database. In development, delete .data to create the database anew.',
    );
  }
  log.warn(
    `A later release has migrated the database, which differs from this release's model: ${listed}.`,
  );
}
