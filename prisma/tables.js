// A Prisma generator: writes what schema.prisma says of each table, as constants that TypeScript can read.
import { writeFileSync } from 'node:fs';

import generatorHelper from '@prisma/generator-helper';

/** Describes a column. Its default is null unless it is a constant. */
function toColumn({ name, dbName, type, nativeType, isRequired, documentation, ...rest }, indexed) {
  const { default: initial } = rest;
  const [native, [length] = []] = nativeType ?? [];
  return [
    name,
    {
      column: dbName ?? name,
      type: native === 'Date' ? 'Date' : type,
      description: documentation ?? null,
      isNullable: !isRequired,
      maxLength: native === 'VarChar' ? Number(length) : null,
      // Whether an index begins with it.
      isIndexed: indexed.has(name),
      default: initial === undefined || typeof initial === 'object' ? null : initial,
    },
  ];
}

function toTable({ dbName, name, documentation, fields }, indexes) {
  const columns = fields.filter(({ kind }) => kind !== 'object');
  const columnOf = (field) => columns.find((column) => column.name === field)?.dbName ?? field;
  const references = fields.filter(({ relationFromFields }) => relationFromFields?.length === 1);
  const own = indexes.filter(({ model, algorithm }) => model === name && algorithm !== 'Gin');
  const indexed = new Set(own.map((index) => index.fields[0].name));
  // Prisma names the constraints of its migrations like this.
  const constraint = (field, suffix) => [field, `${dbName ?? name}_${columnOf(field)}_${suffix}`];
  return {
    type: name,
    name: dbName ?? name,
    description: documentation ?? null,
    id: columns.find(({ isId }) => isId)?.name ?? null,
    columns: Object.fromEntries(columns.map((column) => toColumn(column, indexed))),
    foreignKeys: Object.fromEntries(
      references.map(({ relationFromFields: [field] }) => constraint(field, 'fkey')),
    ),
    uniqueKeys: Object.fromEntries(
      columns.filter(({ isUnique }) => isUnique).map((column) => constraint(column.name, 'key')),
    ),
  };
}

const print = (name, value) =>
  `export const ${name} = ${JSON.stringify(value, null, 2)} as const;\n`;

generatorHelper.generatorHandler({
  onManifest: () => ({ prettyName: 'tables', defaultOutput: './tables.ts' }),
  onGenerate: async ({ dmmf: { datamodel }, generator }) => {
    const tables = Object.fromEntries(
      datamodel.models.map((model) => [model.name, toTable(model, datamodel.indexes)]),
    );
    const enums = Object.fromEntries(
      datamodel.enums.map(({ name, dbName, values }) => [
        name,
        { type: dbName ?? name, values: values.map((value) => value.dbName ?? value.name) },
      ]),
    );
    writeFileSync(generator.output.value, print('TABLES', tables) + print('ENUMS', enums));
  },
});
