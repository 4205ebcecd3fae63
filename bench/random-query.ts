import {
  getNamedType,
  getNullableType,
  type GraphQLArgument,
  GraphQLEnumType,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLObjectType,
  type GraphQLSchema,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';

import { SAMPLES } from '../test/support/samples.ts';

/** A field of a query, with its arguments as text. */
interface Selected {
  readonly name: string;
  readonly type: GraphQLObjectType | undefined;
  args: string;
  readonly inside: Selected[];
}

/** A query without variables or fragments. */
export type Query = Selected[];

const MAX_DEPTH = 5;

function pick<Item>(items: readonly Item[]): Item {
  const item = items[Math.floor(Math.random() * items.length)];
  if (item === undefined) throw new Error('Nothing to pick from.');
  return item;
}

const isLikely = (probability: number): boolean => Math.random() < probability;
const idUpTo = (max: number): string => String(1 + Math.floor(Math.random() * max));

/** Arguments that suit the rows of the benchmark's store, by the argument's name or type. */
const VALUES: Readonly<Record<string, () => string>> = {
  first: () => pick(['0', '1', '5', '20', '100']),
  last: () => pick(['0', '1', '5', '20', '100']),
  name: () => pick(['"a"', '"00"', '"pet 00"', '"et 0001"', '"zzz"']),
  categoryId: () => `"${idUpTo(20)}"`,
  after: () => `"${Buffer.from(JSON.stringify(['ID', idUpTo(9000)])).toString('base64url')}"`,
  before: () => `"${Buffer.from(JSON.stringify(['ID', idUpTo(9000)])).toString('base64url')}"`,
  ID: () => `"${idUpTo(10_000)}"`,
  Int: () => pick(['0', '1', '10', '50']),
  DateTime: () => `"2026-0${idUpTo(9)}-01T00:00:00Z"`,
};

/** Writes the required arguments or input fields, and some optional ones. */
function writeValues(
  fields: readonly (GraphQLArgument | GraphQLInputField)[],
  probability: number,
): string {
  return fields
    .filter(({ type }) => isNonNullType(type) || isLikely(probability))
    .map(({ name, type }) => `${name}: ${valueOf(name, type)}`)
    .join(', ');
}

function valueOf(name: string, type: GraphQLInputType): string {
  const nullable = getNullableType(type);
  if (isListType(nullable)) return `[${valueOf(name, nullable.ofType)}]`;
  if (isInputObjectType(nullable)) {
    return `{ ${writeValues(Object.values(nullable.getFields()), 0.4)} }`;
  }
  if (nullable instanceof GraphQLEnumType) return pick(nullable.getValues()).name;
  const value = VALUES[name] ?? VALUES[nullable.toString()];
  return value?.() ?? JSON.stringify(pick(SAMPLES[nullable.toString()] ?? []));
}

const argumentsOf = ({ args }: GraphQLField<unknown, unknown>): string => writeValues(args, 0.35);

const fieldsOf = (type: GraphQLObjectType): GraphQLField<unknown, unknown>[] =>
  Object.values(type.getFields());

const typeOf = ({ type }: GraphQLField<unknown, unknown>) => getNamedType(type);

function randomField(parent: GraphQLObjectType, depth: number): Selected {
  const leaves = fieldsOf(parent).filter((field) => isLeafType(typeOf(field)));
  const objects = fieldsOf(parent).filter((field) => depth > 0 && isObjectType(typeOf(field)));
  const fields = [...leaves, ...objects];
  if (fields.length === 0) return { name: '__typename', type: undefined, args: '', inside: [] };
  const field = objects.length > 0 && isLikely(0.5) ? pick(objects) : pick(fields);
  const type = typeOf(field);
  if (!isObjectType(type)) {
    return { name: field.name, type: undefined, args: argumentsOf(field), inside: [] };
  }
  const inside = Array.from({ length: 1 + Math.floor(Math.random() * 4) }, () =>
    randomField(type, depth - 1),
  );
  return { name: field.name, type, args: argumentsOf(field), inside };
}

const queryOf = (schema: GraphQLSchema): GraphQLObjectType => {
  const type = schema.getQueryType();
  if (!type) throw new Error('The schema has no queries.');
  return type;
};

/** Returns a random query with one to three root fields. */
export function randomQuery(schema: GraphQLSchema): Query {
  const root = queryOf(schema);
  const count = 1 + Math.floor(Math.random() * 3);
  return Array.from({ length: count }, () => randomField(root, MAX_DEPTH));
}

/** A list of fields in a query. */
interface Place {
  readonly list: Selected[];
  readonly type: GraphQLObjectType;
}

function placesOf(list: Selected[], type: GraphQLObjectType): Place[] {
  const inside = list.flatMap((field) => (field.type ? placesOf(field.inside, field.type) : []));
  return [{ list, type }, ...inside];
}

const copyOf = ({ inside, ...field }: Selected): Selected => ({
  ...field,
  inside: inside.map(copyOf),
});

/** Returns a copy of a query with one to three fields removed, added, repeated or given other arguments. */
export function mutate(schema: GraphQLSchema, query: Query): Query {
  const copy = query.map(copyOf);
  for (let change = 0; change < 3; change += 1) {
    if (change > 0 && isLikely(0.5)) break;
    const { list, type } = pick(
      placesOf(copy, queryOf(schema)).filter(({ list: { length } }) => length > 0),
    );
    const index = Math.floor(Math.random() * list.length);
    const field = list[index];
    const definition = field && type.getFields()[field.name];
    if (list.length > 1 && isLikely(0.3)) list.splice(index, 1);
    else if (field && definition && isLikely(0.4)) field.args = argumentsOf(definition);
    else if (field && isLikely(0.2)) list.push(copyOf(field));
    else list.push(randomField(type, 2));
  }
  return copy;
}

/** Writes a query. A field that is already selected gets an alias. */
export function writeQuery(query: Query): string {
  let aliases = 0;
  const writeList = (list: readonly Selected[]): string => {
    const names = new Set<string>();
    const written = list.map(({ name, args, inside }) => {
      const alias = names.has(name) ? `a${(aliases += 1)}: ` : '';
      names.add(name);
      const own = `${alias}${name}${args && `(${args})`}`;
      return inside.length > 0 ? `${own} ${writeList(inside)}` : own;
    });
    return `{ ${written.join(' ')} }`;
  };
  return writeList(query);
}
