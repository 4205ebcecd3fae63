import type { Model as StoredModel } from '../../src/gateway/model/stored-table.ts';
import { ENUMS, TABLES } from '../../src/store/generated/tables.ts';
import { numbersOf, requireAllowed } from './values.ts';

/** The tables of the store, with lists of their columns, and the column of the id. */
export const MODELS = Object.values<StoredModel>(TABLES).map((table) => ({
  ...table,
  id: table.columns[table.id ?? '']?.ownColumn ?? '',
  columns: Object.entries(table.columns).map(([field, column]) => ({ ...column, field })),
}));
type Model = (typeof MODELS)[number];
type Column = Model['columns'][number];

const MAX_INT = 2 ** 31 - 1;

/** SQL for a number of row `n` from 0 to below `count`, which does not depend on the values of other columns. */
const spread = ({ ownColumn }: Column, count: number, purpose = ''): string =>
  `(hashtextextended('${ownColumn} ${purpose}' || n, 0) & ${MAX_INT})::integer % ${count}`;

/** The references of a model that must differ in each row, alone or together. */
const uniqueReferences = ({ columns, uniques }: Model): Column[][] => [
  ...columns.filter(({ isReference, isUnique }) => isReference && isUnique).map((one) => [one]),
  ...uniques
    .map((fields) => columns.filter(({ field }) => fields.includes(field)))
    .filter((together) => together.every(({ isReference }) => isReference)),
];

/** SQL for a reference in row `n` to one of the first `parents` rows of another table. */
function referenceOf(model: Model, column: Column, parents: number): string {
  const together = uniqueReferences(model).find((columns) => columns.includes(column));
  const place = together?.indexOf(column) ?? 0;
  return `${place === 0 ? 'n' : `(n + n / ${parents ** place})`} % ${parents} + 1`;
}

/** SQL for the value of a column in row `n` of a model. */
function valueOf({ type: model, uniques }: Model, column: Column, rows: number) {
  const { field, type, maxLength } = column;
  const isUnique = column.isUnique || uniques.some((fields) => fields.includes(field));
  const known = Object.entries(ENUMS).find(([name]) => name === type)?.[1];
  if (known)
    return `('{${known.values.join()}}'::${known.type}[])[${spread(column, known.values.length)} + 1]`;
  if (type === 'String') requireAllowed(model, field, 'Name 7919'.slice(0, maxLength ?? undefined));
  const { least, count } = numbersOf(model, field);
  // In a small table, too, some values are the least, and some are equal to those of other columns.
  const numbers = Math.min(count, Math.ceil(rows / 20));
  const time = isUnique ? 'n' : `(n + ${spread(column, 2)})`;
  const values: Readonly<Record<string, string>> = {
    Int: `${least} + ${isUnique ? 'n' : spread(column, numbers)}`,
    BigInt: 'n',
    Boolean: `${spread(column, 50)} <> 0`,
    DateTime: `timestamptz '2026-01-01' + ${time} * interval '5 min'`,
    Date: `date '2026-01-01' + ${time} % 5000`,
    String: `left('Name ' || (n * 7919 % 100000), ${maxLength})`,
  };
  const value = values[type];
  if (value === undefined) throw new Error(`Add a value of ${type} to test/support/rows.ts.`);
  return value;
}

/**
 * Returns SQL that inserts rows into a table. `known` has SQL for values by column, with the number `n` of the row; other
 * values are derived from the model and the rules of the inputs. References are to the first `parents` rows of another
 * table, so there are fewer rows if only so many can differ.
 */
export function insertSql(
  model: Model,
  rows: number,
  parents: number,
  known: Readonly<Record<string, string>> = {},
): string {
  const columns = model.columns.filter(
    ({ isReference, ownColumn }) => isReference || ownColumn !== model.id,
  );
  const values = columns.map((column) => {
    const given = known[column.ownColumn];
    if (given !== undefined) return given;
    if (column.isReference) return referenceOf(model, column, parents);
    const value = valueOf(model, column, rows);
    return column.isNullable
      ? `case when ${spread(column, 10, 'null')} <> 0 then ${value} end`
      : value;
  });
  const counts = uniqueReferences(model)
    .filter((together) => together.every(({ ownColumn }) => known[ownColumn] === undefined))
    .map((together) => parents ** together.length);
  return `insert into ${model.name} (${columns.map(({ ownColumn }) => ownColumn).join(', ')})
    select ${values.join(', ')} from generate_series(1, ${Math.min(rows, ...counts)}) as n`;
}

/** Returns SQL that sets the references that are null in the rows of a table. */
export const referSql = ({ name, id, columns }: Model, parents: number): string[] =>
  columns
    .filter(({ isReference, isNullable }) => isReference && isNullable)
    .map(
      ({ ownColumn }) =>
        `update ${name} set ${ownColumn} = ${id} % ${parents} + 1 where ${ownColumn} is null`,
    );
