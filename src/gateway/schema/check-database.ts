import { getNamedType } from 'graphql';
import sql, { raw } from 'sql-template-tag';

import { toError } from '../contract/gateway-error.ts';
import type { Database } from '../database/database.ts';
import { MigrationError } from '../database/migrations.ts';
import type { Session } from '../database/session.ts';
import type { Repository } from '../repository.ts';
import type { Store } from '../store.ts';
import type { Log } from '../telemetry/log.ts';
import { requireModel } from './check-model.ts';
import type { FieldSql } from './field-extensions.ts';
import { fieldsIn } from './fields-in.ts';

/** Requires names that PostgreSQL reads without quotes, because statements contain no quotes. */
async function requirePlainNames(
  { query }: Session,
  repositories: readonly Repository[],
): Promise<void> {
  const names = repositories.flatMap(({ name, columns, enums }) => [
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

/** Requires that triggers record the changes to the rows of each type, for subscriptions, and who makes them. */
async function requireRecorded(
  { query }: Session,
  repositories: readonly Repository[],
): Promise<void> {
  const types = repositories.map(({ type }) => type);
  const names = repositories.map(({ name }) => name);
  const [missing] = await query<{ type: string; isEarlier: boolean }>(sql`
    select type, prosrc is not null as "isEarlier"
    from unnest(${types}::text[], ${names}::text[]) as line (type, name)
    left join (pg_trigger join pg_proc on pg_proc.oid = tgfoid)
      on tgrelid = to_regclass(name) and tgname = 'record_change' and strpos(prosrc, quote_literal(type)) > 0
    where prosrc is null or strpos(prosrc, 'gateway.who') = 0 limit 1`);
  const table = repositories.find(({ type }) => type === missing?.type);
  if (!table) return;
  const [what, how] = missing?.isEarlier
    ? [
        'recorded without who makes them',
        'the new parts of gateway-tables.sql, and then this line,',
      ]
    : ['not recorded', 'this line'];
  throw new MigrationError(
    `Changes to the table ${table.name} are ${what}. Add ${how} to a migration: ` +
      `SELECT record_changes_of('${table.name}', '${table.type}', '${table.id.column}');`,
  );
}

/** Warns of rights that the role lacks, because only the requests that need them will fail. */
async function warnOfRights(
  { query }: Session,
  repositories: readonly Repository[],
  log: Log,
): Promise<void> {
  const names = repositories.map(({ name }) => name);
  const ids = repositories.map(({ id }) => id.column);
  const missing = await query<{ role: string; lacked: string }>(sql`
    with needed (name, rights) as (
      select name, array['SELECT', 'INSERT', 'UPDATE', 'DELETE']
      from unnest(${[...names, 'idempotency_keys']}::text[]) as name
      union all select name, array['SELECT', 'DELETE'] from unnest(array['changes', 'settled_changes']) as name
    ), lacked as (
      select concat(needed_right, ' on ', name) as lacked from needed cross join unnest(rights) as needed_right
      where not case needed_right when 'DELETE' then has_table_privilege(name, needed_right)
        else has_any_column_privilege(name, needed_right) end
      union all select concat('USAGE on ', sequence)
      from unnest(${names}::text[], ${ids}::text[]) as line (name, id)
      cross join pg_get_serial_sequence(name, id) as sequence
      where not has_sequence_privilege(sequence, 'USAGE')
    )
    select current_user::text as role, lacked from lacked`);
  const [first] = missing;
  if (!first) return;
  log.warn(
    `The role ${first.role} lacks rights, and requests that need them will fail: ` +
      `${missing.map(({ lacked }) => lacked).join(', ')}.`,
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
  repositories: readonly Repository[],
): Promise<void> {
  await query(sql`
    select set_config('enable_sort', 'off', true), set_config('enable_seqscan', 'off', true)`);
  for (const { name, id, sorts } of repositories) {
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

// A compiled statement writes a value as JSON in the form that its type in the schema has.
const TYPES: Readonly<Record<string, readonly string[]>> = {
  ID: ['bigint', 'integer'],
  Int: ['integer', 'smallint'],
  String: ['text', 'character varying'],
  Boolean: ['boolean'],
  DateTime: ['timestamp with time zone'],
  Date: ['date'],
};

/** Returns the SQL of a computed value, and the tables that it reads; undefined for any other field. */
function computedBy(
  how: FieldSql | undefined,
  table: string,
): [value: string, from: string] | undefined {
  if (how?.kind === 'value') return [how.value('t1'), `${table} t1`];
  if (how?.kind !== 'related' || !how.value) return undefined;
  return [how.value('t1', 't2'), `${how.table.name} t1, ${table} t2`];
}

/**
 * Requires that the SQL of each derivedValue and relatedValue can run, and has the type of its field.
 * @throws Error that names the field
 */
async function requireComputedTypes(
  { query }: Session,
  { schema, repositories }: Pick<Store, 'schema' | 'repositories'>,
): Promise<void> {
  for (const { type, field, place } of fieldsIn(schema)) {
    const repository = repositories.get(type.name);
    const computed = repository && computedBy(field.extensions.sql, repository.name);
    const types = TYPES[getNamedType(field.type).name];
    if (!computed || !types) continue;
    const [value, from] = computed;
    const [row] = await query<{ type: string }>(
      raw(`select pg_typeof((select ${value} from ${from} limit 0))::text as type`),
    ).catch((error: unknown) => {
      throw new Error(`The SQL of ${place} fails: ${toError(error).message}.`, { cause: error });
    });
    if (row && types.includes(row.type)) continue;
    throw new Error(
      `The SQL of ${place} has the type ${row?.type}, but must have ${types.join(' or ')}.`,
    );
  }
}

/**
 * Checks that a database has everything that a store needs.
 * @throws MigrationError, or Error about the SQL of a field
 */
export const checkDatabase = (db: Database, store: Store, log: Log): Promise<void> =>
  db.transaction(async (session) => {
    const repositories = [...store.repositories.values()];
    await session.query(sql`select set_config('quote_all_identifiers', 'off', true)`);
    await requirePlainNames(session, repositories);
    await requireModel(session, repositories, store.migrations, log);
    await requireRecorded(session, repositories);
    await warnOfRights(session, repositories, log);
    await requireComputedTypes(session, store);
    await requireSortIndexes(session, repositories);
  });
