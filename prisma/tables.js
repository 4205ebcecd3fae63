// A Prisma generator that describes the tables in schema.prisma for the gateway.
import { writeFileSync } from 'node:fs';

import generatorHelper from '@prisma/generator-helper';

// The native types of each type; the gateway reads and writes no others. The first is Prisma's default.
const NATIVE = {
  BigInt: ['', 'BigInt'],
  Int: ['', 'Integer'],
  String: ['', 'Text', 'VarChar'],
  Boolean: ['', 'Boolean'],
  // JavaScript's times have milliseconds: cursors would lose anything more precise.
  DateTime: ['Date', 'Timestamptz(0)', 'Timestamptz(1)', 'Timestamptz(2)', 'Timestamptz(3)'],
};

/** Whether the gateway can read and write a column. */
function isSupported({ kind, type, nativeType, isList, isId, default: initial }) {
  const [native = '', args = []] = nativeType ?? [];
  const isKnown = NATIVE[type]?.some((name) =>
    [native, `${native}(${args.join()})`].includes(name),
  );
  const isConstantTime = type === 'DateTime' && typeof initial === 'string';
  const isType = isKnown || kind === 'enum';
  return isType && !isList && !isConstantTime && (!isId || type === 'BigInt');
}

/** @throws Error if the gateway can't read or write a column */
function requireSupported(models) {
  const columns = models.flatMap(({ name: model, fields }) =>
    fields
      .filter((field) => field.kind !== 'object' && !isSupported(field))
      .map(({ name }) => `${model}.${name}`),
  );
  if (columns.length === 0) return;
  throw new Error(
    `The gateway does not support these columns: ${columns.join(', ')}. Use Int, BigInt, Boolean, an enum, String with ` +
      '@db.VarChar, or DateTime with @db.Date or @db.Timestamptz(3) and no constant default; an @id must be a BigInt.',
  );
}

/** @throws Error if a relation has a table without a model, which the gateway would not know */
function requireModels(models) {
  const lists = models.flatMap(({ name: model, fields }) =>
    fields
      .filter(({ kind, isList }) => kind === 'object' && isList)
      .map((field) => ({ ...field, model })),
  );
  for (const one of lists) {
    const other = lists.find(
      (field) =>
        field !== one &&
        field.relationName === one.relationName &&
        field.type === one.model &&
        field.model === one.type,
    );
    if (!other) continue;
    throw new Error(
      `The gateway does not support many-to-many relations without a model: ${one.model}.${one.name} and ` +
        `${other.model}.${other.name}. Add a model with a relation to each, such as ${one.model}${other.model}.`,
    );
  }
}

/** Describes a column of a table. */
function toColumn(table, { indexed, references }, field) {
  const { name, type, nativeType, default: initial } = field;
  const [native, [length] = []] = nativeType ?? [];
  const column = field.dbName ?? name;
  return {
    column: `${table}.${column}`,
    ownColumn: column,
    type: native === 'Date' ? 'Date' : type,
    description: field.documentation ?? null,
    isNullable: !field.isRequired,
    maxLength: native === 'VarChar' ? Number(length) : null,
    // Whether an index other than a GIN index starts with this column.
    isIndexed: indexed.has(name),
    isUnique: field.isId || field.isUnique,
    isReference: references.has(name),
    hasDefault: field.hasDefaultValue,
    // Null if there is no constant default.
    default: initial === undefined || typeof initial === 'object' ? null : initial,
  };
}

/** Describes a model's table, and lists the tables whose references prevent its rows from being deleted. */
function toTable({ name: type, dbName, documentation, fields, uniqueFields }, { models, indexes }) {
  const name = dbName ?? type;
  const columns = fields.filter(({ kind }) => kind !== 'object');
  const references = new Set(
    fields.flatMap(({ relationFromFields: from }) => (from?.length === 1 ? from : [])),
  );
  const own = indexes.filter(({ model, algorithm }) => model === type && algorithm !== 'Gin');
  const known = { indexed: new Set(own.map((index) => index.fields[0].name)), references };
  const keepsRow = (field) =>
    field.type === type && ['NoAction', 'Restrict'].includes(field.relationOnDelete);
  const users = models.filter((model) => model.fields.some(keepsRow));
  return {
    type,
    name,
    description: documentation ?? null,
    id: columns.find(({ isId }) => isId)?.name ?? null,
    usedBy: users.map((user) => user.dbName ?? user.name),
    // Fields that no two rows can have in common, from @@unique.
    uniques: uniqueFields.filter(({ length }) => length > 1),
    columns: Object.fromEntries(columns.map((field) => [field.name, toColumn(name, known, field)])),
  };
}

const print = (name, value) => `export const ${name} = ${JSON.stringify(value, null, 2)};\n`;

generatorHelper.generatorHandler({
  onManifest: () => ({ prettyName: 'tables', defaultOutput: './tables.ts' }),
  onGenerate: async ({ dmmf: { datamodel }, generator }) => {
    requireSupported(datamodel.models);
    requireModels(datamodel.models);
    const tables = Object.fromEntries(
      datamodel.models.map((model) => [model.name, toTable(model, datamodel)]),
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
