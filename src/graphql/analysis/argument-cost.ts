import {
  type FieldNode,
  getNamedType,
  type GraphQLField,
  type GraphQLInputType,
  isInputObjectType,
  valueFromASTUntyped,
} from 'graphql';

export type Variables = Readonly<Record<string, unknown>>;

// What an index of trigrams (pg_trgm) can look for.
const SEARCHABLE = /[\p{L}\p{N}]{3}/u;
const UNSEARCHABLE_FACTOR = 5;

const isObject = (value: unknown): value is Variables =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What the input fields cost that a value of an input type has. */
function costOfValue(type: GraphQLInputType, value: unknown): number {
  const named = getNamedType(type);
  if (!isInputObjectType(named) || !isObject(value)) return 0;
  let sum = 0;
  for (const [name, field] of Object.entries(named.getFields())) {
    const inner = value[name];
    if (inner === undefined || inner === null) continue;
    const weight = Number(field.extensions.directives?.cost?.weight ?? 0);
    const isSlow = typeof inner === 'string' && !SEARCHABLE.test(inner);
    sum += weight * (isSlow ? UNSEARCHABLE_FACTOR : 1) + costOfValue(field.type, inner);
  }
  return sum;
}

/** What the arguments of a field cost, by the variables of a request. */
type ArgumentCost = (variables: Variables) => number;

/** Whether a value of a type can cost anything. */
function canCost(type: GraphQLInputType): boolean {
  const named = getNamedType(type);
  return (
    isInputObjectType(named) &&
    Object.values(named.getFields()).some(({ extensions }) => extensions.directives?.cost)
  );
}

/** Finds what the arguments of a field can cost; undefined where that is always nothing. */
export function argumentCostOf(
  { arguments: given = [] }: FieldNode,
  { args }: GraphQLField<unknown, unknown>,
): ArgumentCost | undefined {
  const costs = given.flatMap(({ name, value }): ArgumentCost[] => {
    const type = args.find((argument) => argument.name === name.value)?.type;
    if (!type || !canCost(type)) return [];
    return [(variables) => costOfValue(type, valueFromASTUntyped(value, variables))];
  });
  if (costs.length === 0) return undefined;
  return (variables) => costs.reduce((sum, cost) => sum + cost(variables), 0);
}
