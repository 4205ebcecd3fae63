import { ENUMS, TABLES } from '../../src/store/generated/tables.ts';

type Model = (typeof TABLES)[keyof typeof TABLES];

interface Column {
  readonly ownColumn: string;
  readonly type: string;
  readonly maxLength: number | null;
  readonly isNullable: boolean;
  readonly isReference: boolean;
  readonly isUnique: boolean;
}

/** The tables of the store, with their columns. */
export const MODELS: readonly { name: string; id: string; columns: Column[] }[] = Object.values(
  TABLES,
).map((model: Model) => ({
  name: model.name,
  id:
    Object.entries<Column>(model.columns).find(([field]) => field === model.id)?.[1].ownColumn ??
    '',
  columns: Object.values<Column>(model.columns),
}));

/** SQL for the value of a column in row `n`; each table that is referred to has this many rows. */
function valueOf({ type, maxLength, isNullable, isReference, isUnique }: Column, parents: number) {
  const values: Readonly<Record<string, string>> = {
    Int: isUnique ? 'n' : 'n * 7919 % 5000',
    BigInt: isReference ? `n % ${parents} + 1` : 'n',
    Boolean: 'n % 50 <> 0',
    DateTime: `timestamptz '2026-01-01' + n * interval '5 min'`,
    Date: `date '2026-01-01' + n % 5000`,
    String: `left('Name ' || (n * 7919 % 100000), ${maxLength})`,
  };
  const known = Object.entries(ENUMS).find(([name]) => name === type)?.[1];
  const value = known
    ? `('{${known.values.join()}}'::${known.type}[])[n % ${known.values.length} + 1]`
    : values[type];
  if (value === undefined) throw new Error(`Add a value of ${type} to test/support/rows.ts.`);
  return isNullable && !isReference ? `case when n % 10 <> 0 then ${value} end` : value;
}

/**
 * Returns SQL that inserts rows into a table, with values derived from the model. References are to the first `parents`
 * rows of another table.
 */
export function insertSql(model: (typeof MODELS)[number], rows: number, parents: number): string {
  const columns = model.columns.filter(
    ({ isReference, ownColumn }) => isReference || ownColumn !== model.id,
  );
  return `insert into ${model.name} (${columns.map(({ ownColumn }) => ownColumn).join(', ')})
    select ${columns.map((column) => valueOf(column, parents)).join(', ')} from generate_series(1, ${rows}) as n`;
}

/** Returns SQL that sets the references that are null in the rows of a table. */
export const referSql = (
  { name, id, columns }: (typeof MODELS)[number],
  parents: number,
): string[] =>
  columns
    .filter(({ isReference, isNullable }) => isReference && isNullable)
    .map(
      ({ ownColumn }) =>
        `update ${name} set ${ownColumn} = ${id} % ${parents} + 1 where ${ownColumn} is null`,
    );
