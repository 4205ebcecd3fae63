import {
  getNamedType,
  getNullableType,
  type GraphQLSchema,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isListType,
  isObjectType,
  isScalarType,
  specifiedScalarTypes,
  validateSchema,
} from 'graphql';

import { KINDS } from '../kinds/kinds.ts';
import { type Field, type Model, refers, type Table } from '../model/stored-table.ts';
import { lowerFirst } from '../model/words.ts';
import type { Repository } from '../repository.ts';
import { fieldsIn, type TypedField } from './fields-in.ts';

/** What the checks of a store need to know about it. */
interface CheckedStore {
  readonly schema: GraphQLSchema;
  readonly tables: Readonly<Record<string, Model>>;
  readonly scopes: readonly string[];
  readonly repositories: ReadonlyMap<string, Repository>;
}

// The options that Pothos, its plugins and the gateway read. Another plugin adds its options to the types of TypeScript
// as soon as a file imports it.
const OPTIONS =
  'args defaultValue deprecationReason description errors extensions fields interfaces isTypeOf name nullable onlyAdds required resolve resolveType scope subscribe type';
const KNOWN = new Set(OPTIONS.split(' '));
const OF_MUTATION = ['description', 'scope', 'errors'];

interface Defined {
  readonly extensions: object;
}

/** Returns the options with which something was defined; Pothos (4.15) keeps them. */
const optionsOf = ({ extensions }: Defined): Readonly<Record<string, unknown>> =>
  'pothosOptions' in extensions ? { ...Object(extensions.pothosOptions) } : {};

/** Yields what is defined with options, each with its name in messages. */
function* definedIn(schema: GraphQLSchema): Generator<[place: string, defined: Defined]> {
  for (const type of Object.values(schema.getTypeMap())) {
    if (isObjectType(type) || isInterfaceType(type)) yield [type.name, type];
    if (!isInputObjectType(type)) continue;
    for (const field of Object.values(type.getFields()))
      yield [`${type.name}.${field.name}`, field];
  }
  for (const { field, place } of fieldsIn(schema)) {
    yield [place, field];
    for (const arg of field.args) yield [`${place}(${arg.name}:)`, arg];
  }
}

/** Finds options that nothing reads, options that a mutation lacks, and scopes that are not checked or that no token would have. */
function* findWrongOptions({ schema, scopes }: CheckedStore): Generator<string> {
  for (const [place, defined] of definedIn(schema)) {
    const unknown = Object.keys(optionsOf(defined)).find((option) => !KNOWN.has(option));
    if (unknown) yield `${place} has the option ${unknown}, which nothing reads.`;
  }
  for (const { type, field, place } of fieldsIn(schema)) {
    const options = optionsOf(field);
    const { scope } = field.extensions;
    if (scope !== undefined && scope !== 'audit' && !scopes.includes(scope))
      yield `${place} has the scope ${scope}, which is not in the builder's \`scopes\`: ${scopes.join(', ')}.`;
    if (type !== schema.getMutationType()) {
      if ('scope' in options)
        yield `${place} must not have the option scope, which only mutations have: set extensions.scope.`;
      continue;
    }
    const missing = OF_MUTATION.find((option) => !options[option]);
    if (missing) yield `${place} needs the option ${missing}.`;
  }
}

/** Whether a column refers to the rows of another table, or is the id to which these refer. */
function isRelated(
  { repositories }: CheckedStore,
  from: Repository,
  column: string,
  { name, id }: Table<never>,
): boolean {
  if (refers(from, column, name)) return true;
  const others = [...repositories.values()].filter((other) => other.name === name);
  return others.some((other) => refers(other, id.column, from.name));
}

/** Finds fields that Prisma would read, and related rows that are read by the wrong column. */
function* findUnread(store: CheckedStore): Generator<string> {
  for (const { type, field, place } of fieldsIn(store.schema)) {
    const { sql, pothosPrismaSelect } = field.extensions;
    if (pothosPrismaSelect)
      yield `${place} would be read by Prisma, which the gateway does not use: use relatedRow, listBy or countBy.`;
    const repository = store.repositories.get(type.name);
    if (!repository || sql?.kind !== 'related') continue;
    const column = repository.columns[sql.by] ?? sql.by;
    if (!isRelated(store, repository, column, sql.table))
      yield `${place} is read by ${sql.by}, which does not refer to ${sql.table.name}.`;
  }
}

/** Finds filters of another table's column, or of related rows that are read by the wrong column. */
function* findWrongFilters(store: CheckedStore): Generator<string> {
  for (const repository of store.repositories.values()) {
    for (const [name, { relation, field }] of Object.entries(repository.filters)) {
      const table = relation?.table ?? repository;
      if (relation && !isRelated(store, repository, relation.by, relation.table))
        yield `The filter ${name} of ${repository.name} reads ${table.name} by ${relation.by}, which does not refer to it.`;
      if (field && field.column !== `${table.name}.${field.ownColumn}`)
        yield `The filter ${name} of ${repository.name} can't use ${field.column}: it must be a column of ${table.name}.`;
    }
  }
}

/** Finds subscriptions other than those to changes, and enums whose values are not those in schema.prisma. */
function* findUnknown({ schema, repositories }: CheckedStore): Generator<string> {
  const tables = [...repositories.values()];
  const followed = tables.map(({ words }) => `${lowerFirst(words.prefix)}Changed`);
  for (const name of Object.keys(schema.getSubscriptionType()?.getFields() ?? {})) {
    if (name !== 'changed' && !followed.includes(name))
      yield `Subscription.${name} can't be served: subscriptions follow the change log, and each type has one of its own.`;
  }
  for (const { kind } of tables.flatMap(({ fields }): Field[] => Object.values(fields))) {
    const type = schema.getType(kind.graphql);
    if (!kind.values || !isEnumType(type)) continue;
    const values = type.getValues().map(({ value }) => String(value));
    if (values.toSorted().join() !== kind.values.toSorted().join())
      yield `The enum ${type.name} has the values ${values.join(', ')}, but schema.prisma has ${kind.values.join(', ')}.`;
  }
}

/** Finds columns whose error for an unknown id is that of another table than the one to which they refer. */
function* findWrongMissing({ repositories }: CheckedStore): Generator<string> {
  const tables = [...repositories.values()];
  for (const from of tables) {
    for (const { name, field, missing } of from.inputs) {
      const found = tables.filter(({ notFound }) => notFound === missing);
      const isRight = ({ name: table }: Repository) => refers(from, field?.ownColumn ?? '', table);
      if (found[0] && !found.some(isRight))
        yield `${from.type}.${name} has the error of ${found[0].type} as \`missing\`, but does not refer to ${found[0].name}.`;
    }
  }
}

// The scalars whose values are short.
const SHORT = new Set(
  [
    ...specifiedScalarTypes.map(({ name }) => name),
    ...Object.values(KINDS).map(({ graphql }) => graphql),
  ].filter((name) => name !== 'String'),
);

/** Finds strings, and values of scalars of the store's own, without a maximum size. */
function* findUnsizedTexts({ schema, tables }: CheckedStore): Generator<string> {
  for (const { type, field, place } of fieldsIn(schema)) {
    const named = getNamedType(field.type);
    const { maxBytes, pothosExposedField = '' } = field.extensions;
    if (maxBytes !== undefined || !isScalarType(named)) continue;
    const column = tables[type.name]?.columns[pothosExposedField];
    if (SHORT.has(named.name) && column?.type !== 'String') continue;
    yield `${place} needs a column with a length, such as @db.VarChar(255), or extensions.maxBytes.`;
  }
}

/** Returns the names of the types on which a field's result can be selected. */
function typesOf(schema: GraphQLSchema, { type }: TypedField['field']): Set<string> {
  const named = getNamedType(type);
  const members = isAbstractType(named) ? schema.getPossibleTypes(named) : [named];
  const interfaces = members.flatMap((one) => (isObjectType(one) ? one.getInterfaces() : []));
  return new Set([...members, ...interfaces].map(({ name }) => name));
}

const listSizeOf = ({ extensions }: TypedField['field']) => extensions.directives?.listSize;

/**
 * Finds lists without a maximum size, with which the cost and the size of every response are estimated. Either the list
 * has a size (listOf), or every field that returns its type has one that names the list in `sizedFields`.
 */
function* findUnsizedLists({ schema }: CheckedStore): Generator<string> {
  const outputs = [...fieldsIn(schema)];
  const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()];
  const parents = outputs.map(({ field }) => ({
    types: typesOf(schema, field),
    sized: listSizeOf(field)?.sizedFields ?? [],
  }));
  for (const { type, field, place } of outputs) {
    const list = getNullableType(field.type);
    if (!isListType(list)) continue;
    const isNested = isListType(getNullableType(list.ofType));
    if (!isNested && listSizeOf(field)?.sizedFields.length === 0) continue;
    const around = parents.filter(({ types }) => types.has(type.name));
    if (around.length === 0 && !roots.some((root) => root?.name === type.name))
      yield `No field returns ${type.name}. If it is the list of a type, add t.connection(...fields.list) to Query.`;
    if (!isNested && around.length > 0 && around.every(({ sized }) => sized.includes(field.name)))
      continue;
    yield (
      `${place} needs the maximum size of its list: extensions: listOf(100), for example, or ` +
        'extensions: { directives: { ...listOf(100).directives, cost } } with a cost.'
    );
  }
}

/** @throws Error if callers could not create a row, or could not find out why that failed */
export function requireInputs<Row extends object>(repository: Repository<Row>): void {
  const { type, fields, idField, inputs } = repository;
  const names = new Set(inputs.map(({ name }) => name));
  for (const { name, isNullable, hasDefault } of Object.values<Field>({ ...fields })) {
    if (isNullable || hasDefault || name === idField || names.has(name)) continue;
    throw new Error(`${type}.${name} has no default, so it must be one of the inputs.`);
  }
  for (const { name, field, missing } of inputs) {
    if (!field?.isReference || missing) continue;
    throw new Error(
      `${type}.${name} must set \`missing\` to the error for an id that does not exist.`,
    );
  }
}

/** @throws Error that names a model without a type in the schema */
export function requireTypes({
  tables,
  repositories,
}: Pick<CheckedStore, 'tables' | 'repositories'>): void {
  const missing = Object.keys(tables).find((type) => !repositories.has(type));
  if (missing) throw new Error(`${missing} has no fields: the store must import its schema.ts.`);
}

function* findMistakes(store: CheckedStore): Generator<string> {
  for (const { message } of validateSchema(store.schema)) yield message;
  yield* findUnread(store);
  yield* findWrongFilters(store);
  yield* findWrongOptions(store);
  yield* findUnknown(store);
  yield* findWrongMissing(store);
  yield* findUnsizedTexts(store);
  yield* findUnsizedLists(store);
}

/**
 * Checks what a store's types say.
 * @throws Error that names the first mistake, and what to do instead
 */
export function checkStore(store: CheckedStore): void {
  const [mistake] = findMistakes(store);
  if (mistake !== undefined) throw new Error(mistake);
}
