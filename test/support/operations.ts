import {
  type Arbitrary,
  array,
  boolean,
  constant,
  constantFrom,
  nat,
  oneof,
  option,
  record,
  tuple,
} from 'fast-check';
import {
  doTypesOverlap,
  getNamedType,
  getNullableType,
  type GraphQLArgument,
  GraphQLBoolean,
  type GraphQLCompositeType,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLInputType,
  GraphQLNonNull,
  type GraphQLSchema,
  isAbstractType,
  isCompositeType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isUnionType,
  type OperationTypeNode,
  TypeMetaFieldDef,
} from 'graphql';

import { SAMPLES } from './samples.ts';

export interface Operation {
  query: string;
  variables: Record<string, unknown>;
  operationName?: string;
}

/** A value without variables, both as a GraphQL literal and as JSON. */
interface Constant {
  literal: string;
  json: unknown;
}

/** The parts of a document besides its selections, while the document is written. */
class Draft {
  readonly variables = new Map<string, { name: string; declared: string; json: unknown }>();
  readonly fragments: { name: string; on: GraphQLCompositeType; text: string }[] = [];
  readonly #keys = new Map<string, string>();

  /** Returns a response key that is used only for one field with the same arguments. */
  keyOf(wanted: string, field: string): string {
    let key = wanted;
    for (let n = 1; (this.#keys.get(key) ?? field) !== field; n += 1) key = `${wanted}${n}`;
    this.#keys.set(key, field);
    return key;
  }

  /** Returns the name of a variable; equal variables share one. */
  variableOf(declared: string, json: unknown): string {
    const signature = `${declared} ${JSON.stringify(json)}`;
    const name = this.variables.get(signature)?.name ?? `v${this.variables.size}`;
    this.variables.set(signature, { name, declared, json });
    return `$${name}`;
  }
}

type Write = (draft: Draft) => string;

const cursor = (...place: string[]): string =>
  Buffer.from(JSON.stringify(place)).toString('base64url');

const CURSORS = ['1', '2', '4', '5', '6'].map((id) => cursor('ID', id));

interface Ingredients {
  /** Strings by the name of the argument or field; other values are by type. */
  texts: Record<string, string[]>;
  scalars: Record<string, unknown[]>;
  aliases: string[];
  /** True to include @skip, @include, null and values that coercion rejects. */
  isWild: boolean;
}

/** For valid operations, nearly all of which succeed. */
export const TAME: Ingredients = {
  texts: {
    after: CURSORS,
    before: CURSORS,
    idempotencyKey: ['k', 'l'],
    name: ['a', 'Cleo', 'Rex'],
    description: ['some', ''],
  },
  scalars: Object.fromEntries(
    Object.entries(SAMPLES).map(([scalar, samples]) => [scalar, [...samples]]),
  ),
  aliases: ['a', 'b', 'id', 'name', 'status', 'toString'],
  isWild: false,
};

/** Like TAME, with some values of each kind that resolvers, coercion or executors must reject. */
export const WILD: Ingredients = {
  texts: {
    after: [...CURSORS, 'nonsense'],
    before: [...CURSORS, 'nonsense'],
    idempotencyKey: ['k', 'l', ''],
    name: ['a', 'a', 'Cleo', 'Rex', '', 'x\0'],
    description: ['some', '', 'x\0', 'fails'],
  },
  scalars: {
    ...TAME.scalars,
    ID: ['1', '2', '3', '4', '5', '6', 7, '8', '9', '99', 'x', '9223372036854775808'],
    Int: [0, 1, 2, 3, 4, 5, 6, 9, 50, 100, 101, -1],
    DateTime: [...(TAME.scalars['DateTime'] ?? []), '0000-01-01T00:00:00Z'],
  },
  aliases: [...TAME.aliases, '__proto__'],
  isWild: true,
};

// Values that coercion must reject nearly everywhere; undefined leaves the value out.
const WRONG = [true, 1.5, 'EATEN', 'sold', 2147483648, '2', [], {}, { size: 1 }, [null], undefined];

function leaf(
  type: string,
  values: readonly unknown[],
  { scalars, isWild }: Ingredients,
): Arbitrary<Constant> {
  const isEnum = !(type in scalars) && type !== 'String';
  const valid = constantFrom(...values).map((json) => ({
    literal: isEnum ? String(json) : JSON.stringify(json),
    json,
  }));
  if (!isWild) return valid;
  return oneof(
    { weight: 100, arbitrary: valid },
    // In a variable, the executor must find the wrong value; in a document, validation finds it.
    {
      weight: 2,
      arbitrary: record({ valid, json: constantFrom(...WRONG) }).map(
        ({ valid: { literal }, json }) => ({ literal, json }),
      ),
    },
    { weight: 1, arbitrary: valid.map(({ json }) => ({ literal: '"EATEN"', json })) },
  );
}

/** The arguments, or fields of an input, that are given: all required ones, and some others. */
function given<Value>(
  parts: readonly (GraphQLArgument | GraphQLInputField)[],
  toValue: (part: GraphQLArgument | GraphQLInputField) => Arbitrary<Value>,
): Arbitrary<[string, Value][]> {
  const nothing = { weight: 7, arbitrary: constant(undefined) };
  const entries = parts.map((part) => {
    const entry = toValue(part).map((value): [string, Value] => [part.name, value]);
    const isNeeded = isNonNullType(part.type) && part.defaultValue === undefined;
    return isNeeded ? entry : oneof(nothing, { weight: 3, arbitrary: entry });
  });
  return tuple(...entries).map((all) => all.filter((entry) => entry !== undefined));
}

const toLiteral = (fields: readonly (readonly [string, string])[]): string =>
  `{ ${fields.map(([name, literal]) => `${name}: ${literal}`).join(', ')} }`;

function constantOf(name: string, type: GraphQLInputType, from: Ingredients): Arbitrary<Constant> {
  const nullable = getNullableType(type);
  if (nullable === type) {
    const value = constantOf(name, new GraphQLNonNull(nullable), from);
    if (!from.isWild) return value;
    return oneof(
      { weight: 9, arbitrary: value },
      { weight: 1, arbitrary: constant({ literal: 'null', json: null }) },
    );
  }
  if (isListType(nullable)) {
    const item = constantOf(name, nullable.ofType, from);
    const list = array(item, { maxLength: 2 }).map((items) => ({
      literal: `[${items.map(({ literal }) => literal).join(', ')}]`,
      json: items.map(({ json }) => json),
    }));
    return oneof(list, item);
  }
  if (isInputObjectType(nullable)) {
    const fields = Object.values(nullable.getFields());
    return given(fields, (field) => constantOf(field.name, field.type, from)).map((parts) => ({
      literal: toLiteral(parts.map(([key, { literal }]) => [key, literal])),
      json: Object.fromEntries(parts.map(([key, { json }]) => [key, json])),
    }));
  }
  if (isEnumType(nullable)) {
    return leaf(
      nullable.name,
      nullable.getValues().map((value) => value.name),
      from,
    );
  }
  return leaf(nullable.name, from.scalars[nullable.name] ?? from.texts[name] ?? ['Pet'], from);
}

/** A variable where a type is expected: given, null or omitted, with a default or without. */
function variableOf(
  name: string,
  type: GraphQLInputType,
  hasDefault: boolean,
  from: Ingredients,
): Arbitrary<Write> {
  return record({
    value: constantOf(name, type, from),
    fallback: option(constantOf(name, type, from), { freq: 2 }),
    state: oneof(
      { weight: 20, arbitrary: constant('given' as const) },
      { weight: 9, arbitrary: constant('left out' as const) },
      { weight: from.isWild ? 1 : 0, arbitrary: constant('null' as const) },
    ),
    isOther: boolean(),
  }).map(({ value, fallback, state, isOther }) => {
    const isNonNull = isNonNullType(type);
    // Where there is a default, a nullable variable is allowed although null is not.
    const canBeOther = isNonNull ? hasDefault || fallback !== null : fallback?.json !== null;
    const mayBeNull = isNonNull === (isOther && canBeOther);
    const declared = `${getNullableType(type).toString()}${mayBeNull ? '' : '!'}`;
    const isNeeded = !mayBeNull && !fallback;
    const leftOut = isNeeded ? value.json : undefined;
    // Never null for the `if` of @skip or @include: on the second spread of a fragment, Yoga's executor reports a null
    // `if` as an error, but graphql-js doesn't check it again.
    const none = name === 'if' ? value.json : null;
    const json = { given: value.json, 'left out': leftOut, null: none }[state];
    return (draft) =>
      draft.variableOf(fallback ? `${declared} = ${fallback.literal}` : declared, json);
  });
}

/** A value in a document, with variables anywhere in it. */
function valueOf(
  name: string,
  type: GraphQLInputType,
  hasDefault: boolean,
  from: Ingredients,
): Arbitrary<Write> {
  const nullable = getNullableType(type);
  const plain = constantOf(name, type, from).map(
    ({ literal }): Write =>
      () =>
        literal,
  );
  const choices = [
    { weight: 2, arbitrary: plain },
    { weight: 2, arbitrary: variableOf(name, type, hasDefault, from) },
  ];
  if (isListType(nullable)) {
    const items = array(valueOf(name, nullable.ofType, false, from), { maxLength: 2 });
    const list = items.map(
      (all): Write =>
        (draft) =>
          `[${all.map((write) => write(draft)).join(', ')}]`,
    );
    choices.push({ weight: 2, arbitrary: list });
  }
  if (isInputObjectType(nullable)) {
    const fields = given(Object.values(nullable.getFields()), (field) =>
      valueOf(field.name, field.type, field.defaultValue !== undefined, from),
    );
    const object = fields.map(
      (parts): Write =>
        (draft) =>
          toLiteral(parts.map(([key, write]) => [key, write(draft)])),
    );
    choices.push({ weight: 4, arbitrary: object });
  }
  return oneof(...choices);
}

const directives: Arbitrary<Write> = oneof(
  { weight: 2, arbitrary: constant<Write>(() => '') },
  {
    weight: 1,
    arbitrary: tuple(
      constantFrom(['skip'], ['include'], ['skip', 'include']),
      valueOf('if', new GraphQLNonNull(GraphQLBoolean), false, WILD),
      valueOf('if', new GraphQLNonNull(GraphQLBoolean), false, WILD),
    ).map(
      ([names, ...values]): Write =>
        (draft) =>
          names.map((name, index) => ` @${name}(if: ${values[index]?.(draft)})`).join(''),
    ),
  },
);

/** Returns arbitrary operations on a schema, nearly all of them valid. */
export function operationsOn(
  schema: GraphQLSchema,
  kind: OperationTypeNode,
  depth: number,
  from: Ingredients,
): Arbitrary<Operation> {
  const known = new Map<string, Arbitrary<Write>>();
  const composites = Object.values(schema.getTypeMap()).filter(isCompositeType);

  /** The selections inside a field. Fields inside __schema and __type must not have aliases. */
  const insideOf = (
    field: GraphQLField<unknown, unknown>,
    type: GraphQLCompositeType,
    left: number,
  ): Arbitrary<Write> =>
    field === TypeMetaFieldDef
      ? constantFrom<Write>(
          () => '{ kind }',
          () => '{ name fields { name type { kind } } }',
        )
      : selectionsOf(type, left - 1);

  function fieldOf(field: GraphQLField<unknown, unknown>, left: number): Arbitrary<Write> {
    const type = getNamedType(field.type);
    return record({
      alias: oneof(
        { weight: 3, arbitrary: constant(field.name) },
        { weight: 1, arbitrary: constantFrom(...from.aliases) },
      ),
      args: given(field.args, (arg) =>
        valueOf(arg.name, arg.type, arg.defaultValue !== undefined, from),
      ),
      marks: from.isWild ? directives : constant<Write>(() => ''),
      selections: isCompositeType(type) ? insideOf(field, type, left) : constant(null),
    }).map(({ alias, args, marks, selections }) => (draft) => {
      const values = args.map(([name, write]) => `${name}: ${write(draft)}`).join(', ');
      const call = `${field.name}${values && `(${values})`}`;
      const key = draft.keyOf(alias, `${call}: ${field.type.toString()}`);
      const inner = selections ? ` ${selections(draft)}` : '';
      return `${key === field.name ? '' : `${key}: `}${call}${marks(draft)}${inner}`;
    });
  }

  /** Selections on another type of the same objects, as an inline fragment or as a named one. */
  function fragmentOf(parent: GraphQLCompositeType, left: number): Arbitrary<Write> {
    const types = composites.filter((type) => doTypesOverlap(schema, type, parent));
    // Most types that overlap with the parent are unions, which have few selections.
    const concrete = types.filter((type) => !isUnionType(type));
    const some = concrete.length > 0 ? [...concrete, ...concrete, ...types] : types;
    return constantFrom(...some).chain((on) =>
      record({
        form: constantFrom('bare', 'inline', 'named', 'named', 'again', 'again'),
        pick: nat({ max: 9 }),
        marks: from.isWild ? directives : constant<Write>(() => ''),
        selections: selectionsOf(on, left - 1),
        own: selectionsOf(parent, left - 1),
      }).map(({ form, pick, marks, selections, own }): Write => (draft) => {
        if (form === 'bare') return `...${marks(draft)} ${own(draft)}`;
        if (form === 'inline') return `... on ${on.name}${marks(draft)} ${selections(draft)}`;
        // Only fragments that are already written, so that none contains itself.
        const usable = draft.fragments.filter((one) => doTypesOverlap(schema, one.on, parent));
        const chosen = form === 'again' ? usable[pick % usable.length] : undefined;
        if (chosen) return `...${chosen.name}${marks(draft)}`;
        const text = selections(draft);
        const name = `F${draft.fragments.length}`;
        draft.fragments.push({ name, on, text: `fragment ${name} on ${on.name} ${text}` });
        return `...${name}${marks(draft)}`;
      }),
    );
  }

  function makeSelections(type: GraphQLCompositeType, left: number): Arbitrary<Write> {
    const fields = isUnionType(type) ? [] : Object.values(type.getFields());
    if (type === schema.getQueryType()) fields.push(TypeMetaFieldDef);
    const leaves = fields.filter((field) => !isCompositeType(getNamedType(field.type)));
    const usable = left > 0 ? fields : leaves;
    const typename = constant<Write>((draft) => draft.keyOf('__typename', ''));
    const choices = [{ weight: 1, arbitrary: typename }];
    if (usable.length > 0) {
      const some = usable.map((field) => fieldOf(field, left));
      choices.push({ weight: 12, arbitrary: oneof(...some) });
    }
    if (left > 0) {
      choices.push({ weight: isAbstractType(type) ? 9 : 3, arbitrary: fragmentOf(type, left) });
    }
    const selection = oneof(...choices);
    return array(selection, { minLength: 1, maxLength: 3 }).map(
      (all) => (draft) => `{ ${all.map((write) => write(draft)).join(' ')} }`,
    );
  }

  function selectionsOf(type: GraphQLCompositeType, left: number): Arbitrary<Write> {
    const id = `${type.name} ${left}`;
    const made = known.get(id) ?? makeSelections(type, left);
    known.set(id, made);
    return made;
  }

  const root = schema.getRootType(kind);
  if (!root) throw new Error(`The schema has no ${kind}.`);
  const isOneOfTwo = nat({ max: 9 }).map((n) => n === 9);
  return tuple(selectionsOf(root, depth), isOneOfTwo).map(([write, hasOther]) => {
    const draft = new Draft();
    const body = write(draft);
    const variables = [...draft.variables.values()];
    const declared = variables.map(({ name, declared: type }) => `$${name}: ${type}`).join(', ');
    const definitions = [
      ...(hasOther ? ['query Other { __typename }'] : []),
      `${kind} Asked${declared && `(${declared})`} ${body}`,
      ...draft.fragments.map(({ text }) => text),
    ];
    return {
      query: definitions.join('\n'),
      variables: Object.fromEntries(variables.map(({ name, json }) => [name, json])),
      ...(hasOther && { operationName: 'Asked' }),
    };
  });
}

/** Limits of a gateway that must accept every generated operation; no honest caller needs as much. */
export const UNLIMITED = {
  maxDepth: 100,
  maxAliases: 100_000,
  maxDirectives: 100_000,
  maxFragments: 10_000,
  maxRootFields: 10_000,
  maxCost: 100_000_000,
};
