import { healSchema } from '@graphql-tools/utils';
import { GraphQLError, GraphQLID, GraphQLScalarType, type GraphQLSchema } from 'graphql';

/**
 * The scalar ID: an int64 in decimal digits, or a global id (nodes.ts). JSON numbers are accepted only if they are exact.
 * parseId and parseNodeId check the text later, because their errors include the path of the argument.
 */
const ID = new GraphQLScalarType({
  ...GraphQLID.toConfig(),
  serialize: String,
  parseValue: (value) => {
    if (typeof value === 'string' || Number.isSafeInteger(value)) return String(value);
    throw new GraphQLError('An ID must be a string.', {
      extensions: { code: 'INVALID_ID' },
    });
  },
});

/** Gives all fields and arguments of a schema the gateway's ID, because Pothos 4.15 always takes that of graphql-js. */
export function replaceId(schema: GraphQLSchema): GraphQLSchema {
  schema.getTypeMap()['ID'] = ID;
  return healSchema(schema);
}
