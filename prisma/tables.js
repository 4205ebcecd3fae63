// A Prisma generator: writes what schema.prisma says of each table, as constants that TypeScript can read.
import { writeFileSync } from 'node:fs';

import generatorHelper from '@prisma/generator-helper';

/** Describes a column. Its default is null unless it is a constant. */
const toColumn = ({ name, dbName, type, kind, isRequired, default: initial }) => [
  name,
  {
    column: dbName ?? name,
    type,
    isEnum: kind === 'enum',
    isNullable: !isRequired,
    default: initial === undefined || typeof initial === 'object' ? null : initial,
  },
];

function toTable({ dbName, name, fields }) {
  const columns = fields.filter(({ kind }) => kind !== 'object');
  const columnOf = (field) => columns.find((column) => column.name === field)?.dbName ?? field;
  const references = fields.filter(({ relationFromFields }) => relationFromFields?.length === 1);
  return {
    name: dbName ?? name,
    id: columns.find(({ isId }) => isId)?.name ?? null,
    columns: Object.fromEntries(columns.map(toColumn)),
    // Prisma names the constraints of its migrations like this.
    foreignKeys: Object.fromEntries(
      references.map(({ relationFromFields: [field] }) => [
        field,
        `${dbName ?? name}_${columnOf(field)}_fkey`,
      ]),
    ),
  };
}

const print = (name, value) =>
  `export const ${name} = ${JSON.stringify(value, null, 2)} as const;\n`;

generatorHelper.generatorHandler({
  onManifest: () => ({ prettyName: 'tables', defaultOutput: './tables.ts' }),
  onGenerate: async ({ dmmf: { datamodel }, generator }) => {
    const tables = Object.fromEntries(
      datamodel.models.map((model) => [model.name, toTable(model)]),
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
