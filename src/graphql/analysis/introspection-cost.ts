import {
  type FieldNode,
  type FragmentDefinitionNode,
  getNamedType,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type SelectionSetNode,
} from 'graphql';

import { add, type Estimate, NOTHING } from './estimate-sums.ts';
import { bytesOf, fieldOf } from './field-weight.ts';

// Beyond so many steps it costs too much, whatever it is: each step takes about a microsecond.
const MAX_STEPS = 100_000;
const TOO_MUCH: Estimate = { cost: Number.MAX_SAFE_INTEGER, bytes: Number.MAX_SAFE_INTEGER };

const isList = ({ type }: GraphQLField<unknown, unknown>): boolean =>
  isListType(isNonNullType(type) ? type.ofType : type);

/**
 * Adds up what introspection answers, exactly, as the schema is known: an average would let callers
 * ask again and again for the largest types. A selection set is added up once for each part of the
 * schema that it is asked of.
 */
export class IntrospectionCounter {
  readonly #schema: GraphQLSchema;
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly #known = new Map<SelectionSetNode, Map<unknown, Estimate>>();
  #steps = 0;

  constructor(schema: GraphQLSchema, fragments: ReadonlyMap<string, FragmentDefinitionNode>) {
    this.#schema = schema;
    this.#fragments = fragments;
  }

  /** Counts a field of introspection, `__schema` or `__type` too, of a part of the schema. */
  ofField(
    node: FieldNode,
    field: GraphQLField<unknown, unknown>,
    source: unknown,
    args: Readonly<Record<string, unknown>> = { includeDeprecated: true },
  ): Estimate {
    this.#steps += 1;
    if (this.#steps > MAX_STEPS) return TOO_MUCH;
    const own = { cost: 1, bytes: bytesOf(field, node) };
    const type = getNamedType(field.type);
    const { selectionSet } = node;
    if (!selectionSet || !isObjectType(type)) return own;
    // Introspection reads nothing else of it.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const info = { schema: this.#schema } as GraphQLResolveInfo;
    const value: unknown = field.resolve?.(source, args, undefined, info);
    const parts: unknown[] = isList(field) && Array.isArray(value) ? value : [value];
    return parts
      .filter((part) => part !== null && part !== undefined)
      .map((part) => this.#ofSelections(type, selectionSet, part))
      .reduce(add, own);
  }

  #ofSelections(type: GraphQLObjectType, set: SelectionSetNode, source: unknown): Estimate {
    const known = this.#known.get(set) ?? new Map<unknown, Estimate>();
    this.#known.set(set, known);
    const before = known.get(source);
    if (before) return before;
    const sum = set.selections
      .map((node) => {
        if (node.kind === Kind.FIELD) {
          const field = fieldOf(this.#schema, type, node.name.value);
          return field ? this.ofField(node, field, source) : NOTHING;
        }
        const inside =
          node.kind === Kind.INLINE_FRAGMENT ? node : this.#fragments.get(node.name.value);
        return inside ? this.#ofSelections(type, inside.selectionSet, source) : NOTHING;
      })
      .reduce(add, NOTHING);
    known.set(source, sum);
    return sum;
  }
}
