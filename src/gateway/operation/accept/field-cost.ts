import {
  type FieldNode,
  getNamedType,
  type GraphQLArgument,
  type GraphQLCompositeType,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLSchema,
  isInputObjectType,
  isUnionType,
  SchemaMetaFieldDef,
  TypeMetaFieldDef,
  TypeNameMetaFieldDef,
  valueFromASTUntyped,
  visit,
} from 'graphql';

import { hasTrigram } from '../../database/text-samples.ts';
import { isObject } from '../json-text.ts';

/** Upper bounds for executing an operation or part of it, whatever data is stored. */
export interface Estimate {
  readonly cost: number;
  /** The length of the data as JSON in UTF-8. */
  readonly bytes: number;
  /** The number of fields that need a statement. */
  readonly statements: number;
}

export const ZERO: Estimate = { cost: 0, bytes: 0, statements: 0 };

/** Adds estimates. Nested fragments could add up to Infinity, and Infinity times 0 rows is NaN. */
export const addEstimates = (a: Estimate, b: Estimate): Estimate => ({
  cost: Math.min(a.cost + b.cost, Number.MAX_SAFE_INTEGER),
  bytes: Math.min(a.bytes + b.bytes, Number.MAX_SAFE_INTEGER),
  statements: Math.min(a.statements + b.statements, Number.MAX_SAFE_INTEGER),
});

/** Multiplies an estimate by a number of rows, except its statements: one reads the rows of all parents. */
export const multiplyEstimate = (
  { cost, bytes, statements }: Estimate,
  rows: number,
): Estimate => ({
  cost: rows * cost,
  bytes: rows * bytes,
  statements,
});

// The maximum size of an id, a number, a time, or the name of an enum value or type.
const OTHER_BYTES = 50;
// The quotes of a key and its value, a colon, a comma and two braces.
const PUNCTUATION_BYTES = 8;

export const weightOf = ({ extensions }: GraphQLField<unknown, unknown>): number =>
  Number(extensions.directives?.cost?.weight ?? 1);

/** Returns the field of a type by its name, including introspection fields. */
export function fieldOf(
  schema: GraphQLSchema,
  type: GraphQLCompositeType,
  name: string,
): GraphQLField<unknown, unknown> | undefined {
  if (name === TypeNameMetaFieldDef.name) return TypeNameMetaFieldDef;
  if (type === schema.getQueryType()) {
    if (name === SchemaMetaFieldDef.name) return SchemaMetaFieldDef;
    if (name === TypeMetaFieldDef.name) return TypeMetaFieldDef;
  }
  return isUnionType(type) ? undefined : type.getFields()[name];
}

/** Returns the maximum size of a field with this number of values, including its key. */
export const bytesOf = (
  { extensions }: GraphQLField<unknown, unknown>,
  { name, alias }: FieldNode,
  values: number,
): number =>
  // Each value is followed by a comma.
  (alias ?? name).value.length +
  PUNCTUATION_BYTES +
  values * ((extensions.maxBytes ?? OTHER_BYTES) + 1);

export type VariableValues = Readonly<Record<string, unknown>>;

// The factor for a string that no trigram index can find.
const WITHOUT_TRIGRAM = 5;

function costOfValue(type: GraphQLInputType, value: unknown): number {
  const named = getNamedType(type);
  if (!isInputObjectType(named) || !isObject(value)) return 0;
  let cost = 0;
  for (const [name, field] of Object.entries(named.getFields())) {
    const inner = value[name];
    if (inner === undefined || inner === null) continue;
    const weight = Number(field.extensions.directives?.cost?.weight ?? 0);
    const isSlow = typeof inner === 'string' && !hasTrigram(inner);
    cost += weight * (isSlow ? WITHOUT_TRIGRAM : 1) + costOfValue(field.type, inner);
  }
  return cost;
}

// Writing an indexed string takes time in proportion to its bytes, but up to this size hardly more than the row.
const FREE_BYTES = 64;

/** Returns by how many bytes a string exceeds FREE_BYTES; 0 for any other value. */
export const excessOf = (value: unknown): number =>
  typeof value === 'string' ? Math.max(0, Buffer.byteLength(value) - FREE_BYTES) : 0;

/** Returns the excess of the strings in an object, or in a list of objects, for each field. */
export function excessIn(value: unknown): Record<string, number> {
  // No prototype, because callers choose the names.
  const excess: Record<string, number> = Object.create(null);
  for (const line of Array.isArray(value) ? value : [value]) {
    for (const [name, text] of Object.entries(isObject(line) ? line : {})) {
      const bytes = excessOf(text);
      if (bytes > 0) excess[name] = (excess[name] ?? 0) + bytes;
    }
  }
  return excess;
}

function canCost({ type, extensions }: GraphQLArgument): boolean {
  if (extensions.indexedTexts) return true;
  const named = getNamedType(type);
  const fields = isInputObjectType(named) ? Object.values(named.getFields()) : [];
  return [{ extensions }, ...fields].some((one) => one.extensions.directives?.cost);
}

/** Returns the cost of an argument and of what is in its value. The weight of a list counts once for each value. */
function costOfArgument({ type, extensions }: GraphQLArgument, value: unknown): number {
  const { directives, indexedTexts = [] } = extensions;
  const count = Array.isArray(value) ? value.length : value == null ? 0 : 1;
  const excess = indexedTexts.length > 0 ? excessIn(value) : {};
  const long = indexedTexts.reduce((sum, name) => sum + (excess[name] ?? 0), 0);
  return count * Number(directives?.cost?.weight ?? 0) + costOfValue(type, value) + long;
}

/** Returns the cost of a field's arguments, and adds the variables that affect the cost to `used`. */
export function costOfArguments(
  { arguments: nodes = [] }: FieldNode,
  { args }: GraphQLField<unknown, unknown>,
  variables: VariableValues,
  used: Set<string>,
): number {
  let cost = 0;
  for (const { name, value } of nodes) {
    const argument = args.find((one) => one.name === name.value);
    if (!argument || !canCost(argument)) continue;
    visit(value, { Variable: (node) => void used.add(node.name.value) });
    cost += costOfArgument(argument, valueFromASTUntyped(value, variables));
  }
  return cost;
}
