import { buildSchema } from 'graphql';

import type { Repository } from '../repository.ts';
import type { Cost, ListSize } from './field-extensions.ts';

// https://ibm.github.io/graphql-specs/cost-spec.html
const SDL = `
"""
The cost of a field, an argument or an input field. The cost of an operation is the sum of these:

- a field: its weight, or 1 without this directive
- an item of a list: 1
- a field that reads from the database: 100 more, unless its weight is 100 or more, which includes this
- an argument: its weight, multiplied by the number of values if it is a list
- an input field: its weight, or 5 times its weight for a string without three consecutive letters or digits
- a string in the \`input\` of a mutation that is searched or sorted by: 1 for each byte of UTF-8 above 64
- \`__schema\`: 40,000 in total; \`__type\`: 5,000 in total

Inside a list, all of these are multiplied by the maximum number of items, except the 100 for reading from the database, which is counted once for all items. In the lists of \`Query\`, arguments, input fields and \`totalCount\` cost 10 times as much, because these lists search the whole table.
"""
directive @cost(
  "The cost, as a number."
  weight: String!
) on FIELD_DEFINITION | ARGUMENT_DEFINITION | INPUT_FIELD_DEFINITION

"The maximum number of items in a list."
directive @listSize(
  "The number of items if no argument sets it."
  assumedSize: Int
  "The arguments that set the number of items."
  slicingArguments: [String!]
  "The fields of the returned object that contain the items."
  sizedFields: [String!]
  "Whether one of \`slicingArguments\` must be set."
  requireOneSlicingArgument: Boolean = true
) on FIELD_DEFINITION
`;

/** The directives of GraphQL, and those of the GraphQL Cost Directives Specification. */
export const DIRECTIVES = buildSchema(SDL).getDirectives();

/**
 * Returns the extensions of a field that is a list of at most `assumedSize` items, or of as many as its
 * `slicingArguments` have; or of a field with the object whose `sizedFields` are that list.
 */
export const listOf = (
  assumedSize: number,
  slicingArguments: readonly string[] = [],
  sizedFields: readonly string[] = [],
): { directives: { listSize: ListSize } } => ({
  directives: {
    listSize: { assumedSize, slicingArguments, sizedFields, requireOneSlicingArgument: false },
  },
});

/** The cost of a string is counted in units of this many characters, the maximum length of a name. */
export const TEXT_LENGTH = 255;

// The change log contains a row's strings before and after the change. Recording a string of 255 characters (up to a
// kilobyte) takes PostgreSQL as long as reading ten fields of a row, which cost 1 each.
const TEXT_COST = 20;
// Each mutation has its own transaction.
const WRITE_COST = 100;
// A line writes a row, a change and, with an idempotency key, the stored result.
const LINE_COST = 30;

/** Returns the cost of a mutation that writes a row, or of each line of a mutation. */
export function costOf({ textLength }: Repository, isLine = false): { directives: { cost: Cost } } {
  const texts = TEXT_COST * Math.ceil(textLength / TEXT_LENGTH);
  return { directives: { cost: { weight: String((isLine ? LINE_COST : WRITE_COST) + texts) } } };
}

/** Returns the extensions of an input whose strings may be in indexed columns. */
export const textsOf = ({ inputs }: Repository): { indexedTexts: readonly string[] } => ({
  indexedTexts: inputs
    .filter(({ field }) => field?.type === 'String' && field.isIndexed)
    .map(({ name }) => name),
});
