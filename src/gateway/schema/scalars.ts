import { GraphQLError, GraphQLID } from 'graphql';

// An ID is an int64 in decimal digits. Pothos 4.15 always builds schemas with the ID type of graphql-js, and mapSchema
// of graphql-tools keeps it, so this replaces two functions of that type. JSON numbers are accepted only if they are
// exact. parseId checks the range later, because its error includes the path of the argument.
Object.assign(GraphQLID, {
  serialize: String,
  parseValue: (value: unknown) => {
    if (typeof value === 'string' || Number.isSafeInteger(value)) return String(value);
    throw new GraphQLError('An ID must be a string of digits.', {
      extensions: { code: 'INVALID_ID' },
    });
  },
});
