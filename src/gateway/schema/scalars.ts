import {
  GraphQLError,
  GraphQLID,
  GraphQLList,
  GraphQLNonNull,
  GraphQLScalarType,
  GraphQLSchema,
  type GraphQLType,
  isInputObjectType,
} from 'graphql';

import { fieldsIn } from './fields-in.ts';

/**
 * The scalar ID: an int64 in decimal digits, or a global id (nodes.ts). JSON numbers are accepted only if they are exact.
 * parseId and parseNodeId check the text later, because their errors include the path of the argument.
 */
export const ID = new GraphQLScalarType({
  ...GraphQLID.toConfig(),
  serialize: String,
  parseValue: (value) => {
    if (typeof value === 'string' || Number.isSafeInteger(value)) return String(value);
    throw new GraphQLError('An ID must be a string.', {
      extensions: { code: 'INVALID_ID' },
    });
  },
});

/** Returns a type with the gateway's ID in place of that of graphql-js. */
function withId<Type extends GraphQLType>(type: Type): Type;
function withId(type: GraphQLType): GraphQLType {
  if (type instanceof GraphQLNonNull) return new GraphQLNonNull(withId(type.ofType));
  if (type instanceof GraphQLList) return new GraphQLList(withId(type.ofType));
  return type === GraphQLID ? ID : type;
}

/**
 * Returns a schema in which all fields and arguments have the gateway's ID, because Pothos 4.15 always takes that of
 * graphql-js. The types of `schema` are changed.
 */
export function replaceId(schema: GraphQLSchema): GraphQLSchema {
  for (const { field } of fieldsIn(schema)) {
    field.type = withId(field.type);
    for (const argument of field.args) argument.type = withId(argument.type);
  }
  const types = Object.values(schema.getTypeMap());
  for (const type of types.filter(isInputObjectType)) {
    for (const field of Object.values(type.getFields())) field.type = withId(field.type);
  }
  return new GraphQLSchema({
    ...schema.toConfig(),
    types: types.filter((type) => type !== GraphQLID),
  });
}
