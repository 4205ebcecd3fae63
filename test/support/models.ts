import { StoreBuilder } from '../../src/gateway/index.ts';
import type { Model } from '../../src/gateway/model/stored-table.ts';
import { toEnumName } from '../../src/gateway/model/words.ts';

/** Returns the builder of a store with some tables, and without a schema.prisma. */
export const builderOf = (tables: Readonly<Record<string, Model>>) =>
  new StoreBuilder<object>({
    datamodel: { datamodel: { models: {} } },
    tables,
    scopes: ['any'],
  });

export interface TestColumn {
  readonly name: string;
  readonly type: string;
  readonly isNullable: boolean;
  readonly isUnique?: boolean;
  readonly isReference?: boolean;
}

export const columnName = (field: string): string => toEnumName(field).toLowerCase();

/** Returns a model as prisma/tables.js describes it: an id, and columns that are indexed. */
export const modelOf = (
  type: string,
  name: string,
  columns: readonly TestColumn[],
  uniques: readonly (readonly string[])[] = [],
): Model => ({
  type,
  name,
  description: null,
  id: 'id',
  usedBy: [],
  foreignKeys: [],
  uniques,
  columns: Object.fromEntries(
    [{ name: 'id', type: 'BigInt', isNullable: false, isUnique: true }, ...columns].map(
      (column: TestColumn) => [
        column.name,
        {
          column: `${name}.${columnName(column.name)}`,
          ownColumn: columnName(column.name),
          type: column.type,
          columnType: '',
          description: `The ${column.name}.`,
          isNullable: column.isNullable,
          maxLength: column.type === 'String' ? 255 : null,
          isIndexed: true,
          isUnique: column.isUnique ?? false,
          isReference: column.isReference ?? false,
          hasDefault: column.name === 'id',
          default: null,
        },
      ],
    ),
  ),
});
