import { GraphQLError, GraphQLID } from 'graphql';

// An ID is an int64 in decimal digits, or a global id (nodes.ts). Pothos 4.15 always builds schemas with the ID type of
// graphql-js, and mapSchema of graphql-tools keeps it, so this replaces two functions of that type. JSON numbers are
// accepted only if they are exact. parseId and parseNodeId check the text later, because their errors include the path
// of the argument.
Object.assign(GraphQLID, {
  serialize: String,
  parseValue: (value: unknown) => {
    if (typeof value === 'string' || Number.isSafeInteger(value)) return String(value);
    throw new GraphQLError('An ID must be a string.', {
      extensions: { code: 'INVALID_ID' },
    });
  },
});
