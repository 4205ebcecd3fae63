import {
  getNamedType,
  getNullableType,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  isAbstractType,
  isInterfaceType,
  isIntrospectionType,
  isListType,
  isObjectType,
} from 'graphql';

interface Output {
  readonly type: GraphQLNamedType;
  readonly field: GraphQLField<unknown, unknown>;
}

/** Yields the fields of a schema, with their types. */
export function* fieldsIn(schema: GraphQLSchema): Generator<Output> {
  for (const type of Object.values(schema.getTypeMap())) {
    if (isIntrospectionType(type) || !(isObjectType(type) || isInterfaceType(type))) continue;
    for (const field of Object.values(type.getFields())) yield { type, field };
  }
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
 * @throws Error that names a list without a size
 */
export function requireListSizes(schema: GraphQLSchema): void {
  const outputs = [...fieldsIn(schema)];
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
    if (!isNested && around.length > 0 && around.every(({ sized }) => sized.includes(field.name)))
      continue;
    throw new Error(
      `${type.name}.${field.name} needs the maximum size of its list: extensions: listOf(100), for example.`,
    );
  }
}
