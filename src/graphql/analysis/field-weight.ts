import {
  type FieldNode,
  getNamedType,
  type GraphQLCompositeType,
  type GraphQLField,
  type GraphQLSchema,
  GraphQLString,
  isUnionType,
  SchemaMetaFieldDef,
  TypeMetaFieldDef,
  TypeNameMetaFieldDef,
} from 'graphql';

// The longest text of weight 1 is the cursor of a name: 255 control characters, as JSON in base64.
const TEXT_BYTES = 2200;
const OTHER_BYTES = 50;
// The quotes, the colon and the comma or brace around a value and its key.
const SIGNS_BYTES = 8;

/** What a field costs each time it may be answered. */
export const weightOf = ({ extensions }: GraphQLField<unknown, unknown>): number =>
  Number(extensions.directives?.cost?.weight ?? 1);

/** The field of a name that a type has, those of introspection too. */
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

/** How long one value of a field can be; texts as long as they weigh. */
export function bytesOf(field: GraphQLField<unknown, unknown>, { name, alias }: FieldNode): number {
  const key = (alias ?? name).value.length + SIGNS_BYTES;
  const isText = getNamedType(field.type) === GraphQLString && !name.value.startsWith('__');
  return key + (isText ? TEXT_BYTES * weightOf(field) : OTHER_BYTES);
}
