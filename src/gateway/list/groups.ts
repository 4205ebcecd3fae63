import sql, { raw, type Sql } from 'sql-template-tag';

import { InvalidInput } from '../contract/gateway-error.ts';
import type { Kind } from '../kinds/kind.ts';
import { type Field, refers, type StoredTable } from '../model/stored-table.ts';
import { toEnumName } from '../model/words.ts';
import type { Relation } from './condition.ts';

/** What rows are grouped by: SQL for a value of this kind, given a column of the row or, with `relation`, of a related row. */
export interface GroupKey {
  readonly field: Field;
  readonly relation?: Relation;
  readonly kind: Kind;
  /** What the key is, in descriptions: "`genre` of the book". */
  readonly about: string;
  toSql(this: void, column: string): string;
}

/** What callers can group a list by, and the numbers of which each group has the sum. */
export interface Groups {
  readonly by: Readonly<Record<string, GroupKey>>;
  readonly sum?: readonly Field<number>[];
}

/** A group of rows: the columns of the SELECT, of whose types TypeScript knows nothing. */
export type Group = Readonly<Record<string, never>>;

/** Reads what a SELECT returns of the rows of a list, which are in `"#row"`. */
export type ReadGroups = (select: Sql) => Promise<Group[]>;

/** The SELECT of a single group. */
export const COUNT = sql`select count(*)::integer as count from "#row"`;
export const countIn = ([group]: readonly Group[]): number => group?.['count'] ?? 0;
export const MAX_GROUPS = 100;

/** Returns the name of the field with the object that a foreign key refers to. */
export const toObjectName = (key: string): string => key.replace(/Id$/, '');

const valueOf = ({ field, relation, toSql }: GroupKey): string =>
  toSql(`"#${relation?.by ?? 'row'}".${field.ownColumn}`);
const joinRow = ({ by, table }: Relation): string =>
  ` left join ${table.name} as "#${by}" on "#${by}".${table.id.column} = "#row".${by}`;

/**
 * Returns a SELECT of the largest groups of the rows in `"#row"`, and of one more if there are more than MAX_GROUPS. Its
 * columns are the keys (null if the groups are not by them), `count`, the sums, and the group's place as `#number`.
 * @throws InvalidInput
 */
export function selectGroups({ by, sum = [] }: Groups, names: readonly string[]): Sql {
  if (names.length < 1 || names.length > 2 || names[0] === names[1])
    throw new InvalidInput([{ path: ['by'], message: 'must be one key, or two different keys.' }]);
  const keys = names.flatMap((name) => by[name] ?? []);
  const values = keys.map(valueOf).join();
  const columns = Object.entries(by).map(([name, key]) => {
    return `${names.includes(name) ? valueOf(key) : `null::${key.kind.sqlType}`} as "${name}"`;
  });
  const sums = sum.map((each) => `coalesce(sum("#row".${each.ownColumn}), 0) as "${each.name}"`);
  const joins = new Set(keys.map(({ relation }) => (relation ? joinRow(relation) : '')));
  const order = names.map((name) => `"${name}"`).join();
  // With the limit inside, PostgreSQL need not sort all groups to number them.
  return raw(`select *, row_number() over (order by count desc, ${order}) as "#number" from (
    select ${[...columns, ...sums].join()}, count(*)::integer as count from "#row"${[...joins].join('')}
    group by ${values} order by count(*) desc, ${values} limit ${MAX_GROUPS + 1}) as "#group" order by "#number"`);
}

/** @throws Error if a key or a sum is not a column of the table or, with `relation`, of a row to which each row refers */
function requireColumn<Row>(table: StoredTable<Row>, field: Field, relation?: Relation): void {
  const { name } = relation?.table ?? table;
  const own = Object.values<Field>({ ...table.fields }).find(
    (one) => one.ownColumn === relation?.by,
  );
  const isRelated = !relation || (own?.isNullable === false && refers(table, relation.by, name));
  if (isRelated && field.column === `${name}.${field.ownColumn}`) return;
  const rule = `must be a column of ${name}${relation ? `, to which each ${relation.by} must refer` : ''}`;
  throw new Error(`Groups of ${table.name} can't use ${field.column}: it ${rule}.`);
}

/** Returns the groups of a repository. @throws Error if its rows can't be grouped like this */
export function createGroups<Row>(table: StoredTable<Row>, groups?: Groups): Groups | undefined {
  if (!groups) return undefined;
  const { by, sum = [] } = groups;
  for (const { field, relation } of Object.values(by)) requireColumn(table, field, relation);
  for (const field of sum) requireColumn(table, field);
  const keys = Object.keys(by);
  if (keys.length === 0) throw new Error(`Groups of ${table.name} need a key.`);
  const objects = keys.filter((name) => by[name]?.field.isReference).map(toObjectName);
  const all = ['count', 'sum', ...keys, ...objects, ...sum.map(({ name }) => name)].map(toEnumName);
  const again = all.find((name, index) => all.indexOf(name) < index);
  if (again === undefined) return groups;
  const rule = 'rename a key; that of an id must end with Id';
  throw new Error(`Groups of ${table.name} have two values named ${again}: ${rule}.`);
}
