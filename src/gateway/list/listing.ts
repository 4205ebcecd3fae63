import type { Effort } from '../database/session.ts';
import type { TextSamples } from '../database/text-samples.ts';
import type { Sort } from '../kinds/kind.ts';
import { DATE_TIME } from '../kinds/times.ts';
import type { Field, StoredTable, Table } from '../model/stored-table.ts';
import { toEnumName } from '../model/words.ts';
import { type Condition, findRareWords, operatorOf, planOf } from './condition.ts';
import { createParseFilter, type Filters, requireIndex } from './filter.ts';

/** The arguments of a list. The first four are those of the GraphQL Cursor Connections Specification (§4). */
export interface ListArguments {
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
  readonly last?: number | null | undefined;
  readonly before?: string | null | undefined;
  readonly filter?: object | null | undefined;
  readonly orderBy?:
    | { readonly field: string; readonly direction: 'ASC' | 'DESC' }
    | null
    | undefined;
}

/** The fields that a list can be sorted by, each with a description. The first field is the default. */
export type Sorts<Name extends string = string> = Readonly<Partial<Record<Name, string>>>;

/** The sorts of a list, by their names in GraphQL. The kind of each field sorts in this order. */
export type ListSorts = Readonly<Record<string, { description: string; field: Field }>>;

/**
 * The length of the longest string that can be sorted, in characters. An index entry has at most 2,704 bytes, and a
 * folded character has up to 9.
 */
export const MAX_SORTED_LENGTH = 255;

/**
 * Creates the sorts of a list: two for each string field, and one for any other field.
 * @throws Error if a list has no sort, or one by strings that are too long for an index
 */
export function createSorts<Row>(
  { name: table, fields }: StoredTable<Row>,
  sorts: Sorts<keyof Row & string>,
): ListSorts {
  // The names are field names.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const sorted = Object.entries(sorts) as [keyof Row & string, string][];
  if (sorted.length === 0) throw new Error(`A list of ${table} needs a sort.`);
  return Object.fromEntries(
    sorted.flatMap(([name, description]) => {
      const field: Field = fields[name];
      const { kind, isNullable, maxLength } = field;
      if (kind.codePointSort && (maxLength ?? Infinity) > MAX_SORTED_LENGTH) {
        throw new Error(
          `A list of ${table} cannot be sorted by ${name}: its column must be @db.VarChar(${MAX_SORTED_LENGTH}) or shorter.`,
        );
      }
      const orderBy = (sort: Sort<unknown>) => ({
        description:
          description.replace(/\.$/, `${sort.note ?? ''}.`) +
          (isNullable && sort.nullAs === undefined ? ' Null counts as the largest value.' : ''),
        field: { ...field, kind: { ...kind, sort } },
      });
      const first = [toEnumName(name), orderBy(kind.sort)] as const;
      if (!kind.codePointSort) return [first];
      return [first, [`${toEnumName(name)}_CODE_POINT`, orderBy(kind.codePointSort)] as const];
    }),
  );
}

/** The field that rows are sorted by. Rows with equal values are sorted by id. */
export type SortKey = Pick<Field, 'name' | 'ownColumn' | 'kind' | 'isNullable'>;

/** A list that callers can filter, sort and page through. */
export interface Listing<Row> {
  readonly table: Table<Row>;
  /** The fields to sort by, first the default; null sorts only by id. */
  readonly keys: Readonly<Record<string, SortKey | null>>;
  /** Returns a text that differs for another row at the same position, for lists whose cursors contain it. */
  readonly stampOf?: (row: Row) => string;
  /** Returns the conditions of a filter, and how PostgreSQL plans a page with them. @throws InvalidId, InvalidInput */
  readonly parseFilter: (
    filter: ListArguments['filter'],
    samples?: TextSamples,
  ) => Effort & { readonly conditions: readonly Condition[] };
}

/** @throws Error if a filter lacks its index, or changes can't be filtered as declared */
function requireUsable<Row>(table: StoredTable<Row>, filters: Filters, sorts: ListSorts): void {
  const sorted = Object.values(sorts).map(({ field }) => field.name);
  for (const [name, { op, field, relation, changes }] of Object.entries(filters)) {
    const { isLookup } = operatorOf(op);
    // The index of a sort, which a nullable column does not declare in schema.prisma, also finds a part of its order.
    const names = ['>=', '<='].includes(op) ? sorted : [];
    if (field && isLookup && !relation && !names.includes(field.name)) requireIndex(table, field);
    // PostgreSQL's JSON has times in another format.
    if (!changes || (isLookup && field?.kind !== DATE_TIME)) continue;
    throw new Error(
      `The filter ${name} of ${table.name} must not set \`changes\`: it cannot be checked for recorded rows.`,
    );
  }
}

/** @throws Error if a filter or a sort lacks its index, or changes can't be filtered as declared */
export function createListing<Row>(
  table: StoredTable<Row>,
  filters: Filters,
  sorts: ListSorts,
): Listing<Row> {
  requireUsable(table, filters, sorts);
  const fields = Object.entries(sorts).map(([name, { field }]) => [name, field] as const);
  for (const [, field] of fields) {
    // An index on an expression can't be declared in schema.prisma: requireSortIndexes looks for it in the database.
    if (!field.isNullable) requireIndex(table, field);
  }
  const parse = createParseFilter(filters, 'list');
  return {
    table,
    keys: Object.fromEntries(
      fields.map(([sort, field]) => [sort, field.name === table.idField ? null : field]),
    ),
    parseFilter: (filter, samples) => {
      const parsed = filter ? parse(filter) : [];
      const conditions = samples ? findRareWords(parsed, samples) : parsed;
      return { conditions, ...planOf(conditions) };
    },
  };
}
