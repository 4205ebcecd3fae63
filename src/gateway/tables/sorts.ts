import type { Sort } from '../kinds/kind.ts';
import type { Field, StoredTable } from './stored-table.ts';
import { toEnumName } from './words.ts';

/** The fields that a list can be sorted by, each with a description. The first field is the default. */
export type Sorts<Name extends string = string> = Readonly<Partial<Record<Name, string>>>;

/** The sorts of a list, by their names in GraphQL. The first sort is the default. */
export type ListSorts = Readonly<
  Record<
    string,
    {
      readonly description: string;
      /** The field, with a kind that sorts in this order. */
      readonly field: Field;
    }
  >
>;

/** Creates the sorts of a list: two for each string field, and one for any other field. */
export function createSorts<Row>(
  { fields }: StoredTable<Row>,
  sorts: Sorts<keyof Row & string>,
): ListSorts {
  // The names are field names.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const sorted = Object.entries(sorts) as [keyof Row & string, string][];
  return Object.fromEntries(
    sorted.flatMap(([name, description]) => {
      const field: Field = fields[name];
      const { kind } = field;
      const orderBy = (sort: Sort<unknown>) => ({
        description: description.replace(/\.$/, `${sort.note ?? ''}.`),
        field: { ...field, kind: { ...kind, sort } },
      });
      const first = [toEnumName(name), orderBy(kind.sort)] as const;
      if (!kind.codePointSort) return [first];
      return [first, [`${toEnumName(name)}_CODE_POINT`, orderBy(kind.codePointSort)] as const];
    }),
  );
}
