import { getNamedType } from 'graphql';
import { raw } from 'sql-template-tag';

import { toError } from '../contract/gateway-error.ts';
import type { Session } from '../database/session.ts';
import type { Store } from '../store.ts';
import type { FieldSql } from './field-extensions.ts';
import { fieldsIn } from './fields-in.ts';

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
  sql: FieldSql | undefined,
  table: string,
): [value: string, from: string] | undefined {
  if (sql?.kind === 'value') return [sql.value('t1'), `${table} t1`];
  if (sql?.kind !== 'related' || !sql.value) return undefined;
  return [sql.value('t1', 't2'), `${sql.table.name} t1, ${table} t2`];
}

/**
 * Requires that the SQL of each derivedValue and relatedValue can run, and has the type of its field.
 * @throws Error that names the field
 */
export async function requireComputedTypes(
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
