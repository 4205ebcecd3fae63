import type { Sort } from '../kinds/kind.ts';
import type { Field, StoredTable } from '../model/stored-table.ts';
import { toEnumName } from '../model/words.ts';

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
