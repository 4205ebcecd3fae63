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

/** Returns the name in the database. */
const nameOf = ({ name, dbName }) => dbName ?? name;

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

/** Returns the type of a column as PostgreSQL writes it. `enums` are the names of its enums by those of the model's. */
function toColumnType({ type, nativeType }, enums) {
  const [native, [size] = []] = nativeType ?? [];
  if (native === 'VarChar') return size ? `character varying(${size})` : 'character varying';
  if (native === 'Timestamptz') return `timestamp(${size}) with time zone`;
  if (native === 'Date') return 'date';
  const others = { BigInt: 'bigint', Int: 'integer', String: 'text', Boolean: 'boolean' };
  return others[type] ?? enums.get(type);
}

/** Describes a column of a table. */
function toColumn(table, { indexed, references, enums }, field) {
  const { name, type, nativeType, default: initial } = field;
  const [native, [length] = []] = nativeType ?? [];
  const column = nameOf(field);
  return {
    column: `${table}.${column}`,
    ownColumn: column,
    type: native === 'Date' ? 'Date' : type,
    columnType: toColumnType(field, enums),
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

const ACTIONS = {
  Cascade: 'CASCADE',
  NoAction: 'NO ACTION',
  Restrict: 'RESTRICT',
  SetDefault: 'SET DEFAULT',
  SetNull: 'SET NULL',
};

/** Returns what happens to the rows that a relation belongs to when the row that they refer to is deleted. */
const onDeleteOf = ({ relationOnDelete, isRequired }) =>
  // The defaults are Prisma's.
  ACTIONS[relationOnDelete ?? (isRequired ? 'Restrict' : 'SetNull')];

/** Whether a field is a relation whose columns are in its own table. */
const refers = ({ relationFromFields }) => relationFromFields?.length > 0;

/** Describes a model's table, and lists the tables whose references prevent its rows from being deleted. */
function toTable(model, { models, indexes, enums }) {
  const { name: type, documentation, fields, uniqueFields } = model;
  const name = nameOf(model);
  const columns = fields.filter(({ kind }) => kind !== 'object');
  const references = new Set(
    fields.flatMap(({ relationFromFields: from }) => (from?.length === 1 ? from : [])),
  );
  const own = indexes.filter((index) => index.model === type && index.algorithm !== 'Gin');
  const known = {
    indexed: new Set(own.map((index) => index.fields[0].name)),
    references,
    enums: new Map(enums.map((one) => [one.name, nameOf(one)])),
  };
  const keepsRow = (field) =>
    field.type === type && refers(field) && /^(NO ACTION|RESTRICT)$/.test(onDeleteOf(field));
  const users = models.filter((other) => other.fields.some(keepsRow));
  const columnOf = (field) => nameOf(columns.find((column) => column.name === field));
  return {
    type,
    name,
    description: documentation ?? null,
    id: columns.find(({ isId }) => isId)?.name ?? null,
    usedBy: users.map(nameOf),
    foreignKeys: fields.filter(refers).map((field) => ({
      columns: field.relationFromFields.map(columnOf),
      parent: nameOf(models.find((other) => other.name === field.type)),
      onDelete: onDeleteOf(field),
    })),
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
      datamodel.enums.map((one) => [
        one.name,
        { type: nameOf(one), values: one.values.map(nameOf) },
      ]),
    );
    writeFileSync(generator.output.value, print('TABLES', tables) + print('ENUMS', enums));
  },
});
