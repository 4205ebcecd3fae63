import { type GraphQLSchema, isInputObjectType, isInterfaceType, isObjectType } from 'graphql';

import { fieldsIn } from './list-sizes.ts';

// The options that Pothos and the gateway's plugins read. A plugin that the builder does not use adds its options to the
// types of TypeScript too, as soon as a file imports it.
const TYPE = 'name description interfaces fields isTypeOf resolveType extensions'.split(' ');
const FIELD =
  'type args nullable description deprecationReason extensions resolve subscribe errors scope'.split(
    ' ',
  );
const INPUT = 'type required description deprecationReason defaultValue extensions'.split(' ');
const OF_MUTATION = ['description', 'scope', 'errors'];

interface Defined {
  readonly extensions: object;
}

/** Returns the options with which something was defined; Pothos (4.15) keeps them. */
const optionsOf = ({ extensions }: Defined): object =>
  'pothosOptions' in extensions && extensions.pothosOptions instanceof Object
    ? extensions.pothosOptions
    : {};

function requireKnown(place: string, defined: Defined, ...known: readonly string[]): void {
  const unknown = Object.keys(optionsOf(defined)).find((option) => !known.includes(option));
  if (unknown === undefined) return;
  throw new Error(
    `${place} has the option ${unknown}, which no plugin in the builder's \`plugins\` reads.`,
  );
}

/**
 * `added` are the options that the store's own plugins read.
 * @throws Error if an option would be ignored, or if a mutation lacks one that it needs
 */
export function requireOptions(schema: GraphQLSchema, added: readonly string[]): void {
  for (const type of Object.values(schema.getTypeMap())) {
    if (isObjectType(type) || isInterfaceType(type))
      requireKnown(type.name, type, ...TYPE, ...added);
    if (!isInputObjectType(type)) continue;
    for (const field of Object.values(type.getFields())) {
      requireKnown(`${type.name}.${field.name}`, field, ...INPUT, ...added);
    }
  }
  for (const { type, field } of fieldsIn(schema)) {
    const place = `${type.name}.${field.name}`;
    requireKnown(place, field, ...FIELD, ...added);
    for (const arg of field.args) requireKnown(`${place}(${arg.name}:)`, arg, ...INPUT, ...added);
  }
  for (const field of Object.values(schema.getMutationType()?.getFields() ?? {})) {
    const given = Object.entries(optionsOf(field)).flatMap(([name, value]) => (value ? name : []));
    const missing = OF_MUTATION.find((option) => !given.includes(option));
    if (missing) throw new Error(`Mutation.${field.name} needs the option ${missing}.`);
  }
}
