import type { Sort } from '../kinds/kind.ts';
import type { Field, StoredTable } from './stored-table.ts';
import { toEnumName } from './words.ts';

/** The fields that a list can be sorted by, and the description of each. The first is the default. */
export type Sorts<Name extends string = string> = Readonly<Partial<Record<Name, string>>>;

/** What a list can be sorted by, by its name in GraphQL. The first is the default. */
export type ListSorts = Readonly<
  Record<
    string,
    {
      readonly description: string;
      /** Its kind has this sort. */
      readonly field: Field;
    }
  >
>;

/** Creates the sorts of a list: one or, for texts, two for each field. */
export function createSorts<Row>(
  { fields }: StoredTable<Row>,
  sorts: Sorts<keyof Row & string>,
): ListSorts {
  // The names are those of fields.
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
