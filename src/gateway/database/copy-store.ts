import sql, { raw } from 'sql-template-tag';

import { ConfigError } from '../config/config.ts';
import type { Log } from '../telemetry/log.ts';
import type { Database } from './database.ts';
import type { Session } from './session.ts';

// How many rows one statement copies. A stored result of a write can be 200 kB long.
const BATCH = 100;

interface CopiedTable {
  readonly name: string;
  /** The columns that are stored, separated by commas. */
  readonly columns: string;
  /** The tables that its foreign keys refer to. */
  readonly parents: readonly string[];
}

/**
 * Returns the tables to copy. Each database has its own migrations and its own change log, and its triggers fold the
 * texts, so these are left out.
 */
const readTables = (session: Session): Promise<CopiedTable[]> =>
  session.query<CopiedTable>(sql`
    select oid::regclass::text as name, (
      select string_agg(quote_ident(attname), ', ') from pg_attribute
      where attrelid = pg_class.oid and attnum > 0 and attgenerated = '' and not attisdropped
    ) as columns, array_to_json(array(
      select confrelid::regclass::text from pg_constraint
      where contype = 'f' and conrelid = pg_class.oid
    )) as parents
    from pg_class
    where relkind = 'r' and relnamespace = current_schema()::regnamespace
      and relname not in ('_prisma_migrations', 'changes') and relname !~ '_folded_'
    order by name`);

/** Sorts tables so that each comes after its parents. @throws Error if the rows of a table refer to each other */
function sortByParents(tables: readonly CopiedTable[]): CopiedTable[] {
  const sorted = new Map<string, CopiedTable>();
  while (sorted.size < tables.length) {
    const next = tables.find(
      ({ name, parents }) => !sorted.has(name) && parents.every((parent) => sorted.has(parent)),
    );
    if (!next) throw new Error('Tables whose rows refer to each other cannot be copied.');
    sorted.set(next.name, next);
  }
  return [...sorted.values()];
}

/** Copies the rows of a table; returns how many. */
async function copyRows(source: Session, target: Session, table: CopiedTable): Promise<number> {
  const name = raw(table.name);
  const columns = raw(table.columns);
  let count = 0;
  await source.write(sql`
    declare copied cursor for select row_to_json("copied row")::text as row from ${name} as "copied row"`);
  for (;;) {
    const rows = await source.write<{ row: string }>(raw(`fetch ${BATCH} from copied`));
    if (rows.length === 0) break;
    count += rows.length;
    const json = `[${rows.map(({ row }) => row).join(',')}]`;
    await target.write(sql`
      insert into ${name} (${columns}) overriding system value
      select ${columns} from json_populate_recordset(null::${name}, ${json}::json)`);
  }
  await source.write(raw('close copied'));
  return count;
}

/**
 * Makes all sequences continue after their last values in the source, so that the id of a deleted row is never used
 * again. A rollback does not reset a sequence, so none is set back.
 */
async function copySequences(source: Session, target: Session): Promise<void> {
  const sequences = await source.query<{ name: string; last: string }>(sql`
    select quote_ident(sequencename) as name, last_value::text as last from pg_sequences
    where schemaname = current_schema() and last_value is not null`);
  for (const { name, last } of sequences) {
    await target.write(sql`
      select setval(${name}::regclass, greatest(${last}::bigint, last_value)) from ${raw(name)}`);
  }
}

/**
 * Copies a store into another database in one transaction: the rows, the results of idempotency keys, and the next ids.
 * Both databases must be migrated by this release. The change log of the other database records the rows as created; it
 * continues with the next id of a change, so that a cursor of the first log can't be the position of a copied row.
 * @throws ConfigError if the other database has rows
 */
export async function copyStore(from: Database, to: Database, log: Log): Promise<void> {
  const tables = sortByParents(await readTables(from));
  const names = tables.map(({ name }) => name);
  await to.transaction((target) =>
    from.transaction(async (source) => {
      await target.write(raw(`lock table ${names.join(', ')} in exclusive mode`));
      for (const name of names) {
        const [row] = await target.query(raw(`select from ${name} limit 1`));
        if (row) throw new ConfigError(`The database already has rows in ${name}.`);
      }
      await copySequences(source, target);
      for (const table of tables) {
        log.info({ rows: await copyRows(source, target, table) }, `Copied ${table.name}.`);
      }
    }),
  );
}
