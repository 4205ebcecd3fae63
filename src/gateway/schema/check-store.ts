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
} from 'graphql';

import type { Field } from '../model/stored-table.ts';
import { lowerFirst } from '../model/words.ts';
import type { Repository } from '../repository.ts';
import { fieldsIn, type Output } from './fields-in.ts';

// The options that Pothos and the gateway's plugins read. A plugin that the builder does not use adds its options to the
// types of TypeScript too, as soon as a file imports it.
const TYPE = 'name description interfaces fields isTypeOf resolveType extensions'.split(' ');
const FIELD =
  'type args nullable description deprecationReason extensions resolve subscribe errors scope onlyAdds'.split(
    ' ',
  );
const INPUT = 'type required description deprecationReason defaultValue extensions'.split(' ');
const OF_MUTATION = ['description', 'scope', 'errors'];

interface Defined {
  readonly extensions: object;
}

/** Returns the options with which something was defined; Pothos (4.15) keeps them. */
const optionsOf = ({ extensions }: Defined): object =>
  'pothosOptions' in extensions && extensions.pothosOptions instanceof Object
    ? extensions.pothosOptions
    : {};

function requireKnown(place: string, defined: Defined, ...known: readonly string[]): void {
  const unknown = Object.keys(optionsOf(defined)).find((option) => !known.includes(option));
  if (unknown === undefined) return;
  throw new Error(
    `${place} has the option ${unknown}, which no plugin in the builder's \`plugins\` reads.`,
  );
}

/**
 * `added` are the options that the store's own plugins read.
 * @throws Error if an option would be ignored, or if a mutation lacks one that it needs
 */
function requireOptions(schema: GraphQLSchema, added: readonly string[]): void {
  for (const type of Object.values(schema.getTypeMap())) {
    if (isObjectType(type) || isInterfaceType(type))
      requireKnown(type.name, type, ...TYPE, ...added);
    if (!isInputObjectType(type)) continue;
    for (const field of Object.values(type.getFields())) {
      requireKnown(`${type.name}.${field.name}`, field, ...INPUT, ...added);
    }
  }
  for (const { type, field } of fieldsIn(schema)) {
    const place = `${type.name}.${field.name}`;
    requireKnown(place, field, ...FIELD, ...added);
    for (const arg of field.args) requireKnown(`${place}(${arg.name}:)`, arg, ...INPUT, ...added);
  }
  for (const field of Object.values(schema.getMutationType()?.getFields() ?? {})) {
    const given = Object.entries(optionsOf(field)).flatMap(([name, value]) => (value ? name : []));
    const missing = OF_MUTATION.find((option) => !given.includes(option));
    if (missing) throw new Error(`Mutation.${field.name} needs the option ${missing}.`);
  }
}

/**
 * `scopes` are those of the store.
 * @throws Error if a field has a scope that is not checked, or that no token would have
 */
function requireScopes(schema: GraphQLSchema, scopes: readonly string[]): void {
  for (const { type, field } of fieldsIn(schema)) {
    const options = optionsOf(field);
    if (!('scope' in options)) continue;
    const place = `${type.name}.${field.name}`;
    if (type !== schema.getMutationType())
      throw new Error(`${place} must not have the option scope: only mutations require a scope.`);
    const { scope } = options;
    if (scopes.some((known) => known === scope)) continue;
    throw new Error(
      `${place} has the scope ${String(scope)}, which is not in the builder's \`scopes\`: ${scopes.join(', ')}.`,
    );
  }
}

/** @throws Error that names a field for which Prisma would send a statement, such as `t.relation` */
function rejectPrismaFields(schema: GraphQLSchema): void {
  for (const { type, field } of fieldsIn(schema)) {
    if (!field.extensions.pothosPrismaSelect) continue;
    throw new Error(
      `${type.name}.${field.name} would be read by Prisma, which the gateway does not use: use relatedRow, listBy or countBy.`,
    );
  }
}

/** Whether a column of a table is a foreign key that refers to another table. */
const refers = (from: Repository | undefined, column: string, to: string): boolean =>
  from?.foreignKeys.some(({ columns, parent }) => columns.join() === column && parent === to) ===
  true;

/** @throws Error that names a field with relatedRow or relatedValue whose column does not refer to the related table */
function requireReferences(schema: GraphQLSchema, types: ReadonlyMap<string, Repository>): void {
  const byTable = new Map(Array.from(types.values(), (rows) => [rows.name, rows]));
  for (const { type, field } of fieldsIn(schema)) {
    const { sql } = field.extensions;
    const rows = types.get(type.name);
    if (!rows || sql?.kind !== 'related') continue;
    const column = rows.columns[sql.by] ?? sql.by;
    const { name, id } = sql.table;
    if (refers(rows, column, name) || refers(byTable.get(name), id.column, rows.name)) continue;
    throw new Error(
      `${type.name}.${field.name} is read by ${sql.by}, which does not refer to ${name}.`,
    );
  }
}

/** @throws Error that names a subscription other than those to changes: the gateway would not deliver its results */
function rejectSubscriptions(schema: GraphQLSchema, types: Iterable<Repository>): void {
  const names = Array.from(types, ({ words }) => `${lowerFirst(words.prefix)}Changed`);
  const fields = Object.keys(schema.getSubscriptionType()?.getFields() ?? {});
  const other = fields.find((name) => name !== 'changed' && !names.includes(name));
  if (other === undefined) return;
  throw new Error(
    `Subscription.${other} can't be served: subscriptions follow the change log, and each type has one of its own.`,
  );
}

/** @throws Error that names an enum whose values are not those in schema.prisma */
function requireEnumValues(schema: GraphQLSchema, types: Iterable<Repository>): void {
  const fields = [...types].flatMap((rows): Field[] => Object.values(rows.fields));
  for (const { kind } of fields) {
    const type = schema.getType(kind.graphql);
    if (!kind.values || !isEnumType(type)) continue;
    const values = type.getValues().map(({ value }) => String(value));
    if (values.toSorted().join() === kind.values.toSorted().join()) continue;
    throw new Error(
      `The enum ${type.name} has the values ${values.join(', ')}, but schema.prisma has ${kind.values.join(', ')}.`,
    );
  }
}

/**
 * Checks what a store's types say. `options` are those of its plugins.
 * @throws Error that names the mistake, and what to do instead
 */
export function checkStore(
  schema: GraphQLSchema,
  types: ReadonlyMap<string, Repository>,
  { options, scopes }: { readonly options: readonly string[]; readonly scopes: readonly string[] },
): void {
  rejectPrismaFields(schema);
  requireOptions(schema, options);
  requireScopes(schema, scopes);
  requireEnumValues(schema, types.values());
  requireReferences(schema, types);
  rejectSubscriptions(schema, types.values());
}

/** Returns the names of the types on which a field's result can be selected. */
function typesOf(schema: GraphQLSchema, { type }: Output['field']): Set<string> {
  const named = getNamedType(type);
  const members = isAbstractType(named) ? schema.getPossibleTypes(named) : [named];
  const interfaces = members.flatMap((one) => (isObjectType(one) ? one.getInterfaces() : []));
  return new Set([...members, ...interfaces].map(({ name }) => name));
}

const sizeOf = ({ extensions }: Output['field']) => extensions.directives?.listSize;

/**
 * Requires a maximum size of every list, so that the cost and the size of every response can be estimated. Either the
 * list has a size (listOf), or every field that returns its type has one that names the list in `sizedFields`.
 * @throws Error that names a list without a size, or its type if no field returns it
 */
export function requireListSizes(schema: GraphQLSchema): void {
  const outputs = [...fieldsIn(schema)];
  const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()];
  const parents = outputs.map(({ field }) => ({
    types: typesOf(schema, field),
    sized: sizeOf(field)?.sizedFields ?? [],
  }));
  for (const { type, field } of outputs) {
    const list = getNullableType(field.type);
    if (!isListType(list)) continue;
    const isNested = isListType(getNullableType(list.ofType));
    if (!isNested && sizeOf(field)?.sizedFields.length === 0) continue;
    const around = parents.filter(({ types }) => types.has(type.name));
    if (around.length === 0 && !roots.some((root) => root?.name === type.name)) {
      throw new Error(
        `No field returns ${type.name}. If it is the list of a type, add t.connection(...fields.list) to Query.`,
      );
    }
    if (!isNested && around.length > 0 && around.every(({ sized }) => sized.includes(field.name)))
      continue;
    throw new Error(
      `${type.name}.${field.name} needs the maximum size of its list: extensions: listOf(100), for example, or ` +
        'extensions: { directives: { ...listOf(100).directives, cost } } with a cost.',
    );
  }
}

/** @throws Error if callers could not create a row, or could not find out why that failed */
export function requireInputs<Row extends object>({
  type,
  fields,
  idField,
  inputs,
}: Repository<Row>): void {
  const names = new Set(inputs.map(({ name }) => name));
  for (const { name, isNullable, hasDefault } of new Map<string, Field>(
    Object.entries(fields),
  ).values()) {
    const isNeeded = !isNullable && !hasDefault && name !== idField;
    if (isNeeded && !names.has(name)) {
      throw new Error(`${type}.${name} has no default, so it must be one of the inputs.`);
    }
  }
  for (const { name, field, missing } of inputs) {
    if (field?.isReference && !missing) {
      throw new Error(
        `${type}.${name} must set \`missing\` to the error for an id that does not exist.`,
      );
    }
  }
}
