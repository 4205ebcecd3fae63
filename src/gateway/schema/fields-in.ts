import {
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
} from 'graphql';

/** A field of an object or an interface. */
export interface TypedField {
  readonly type: GraphQLNamedType;
  readonly field: GraphQLField<unknown, unknown>;
  /** Its name in messages: `Book.title`. */
  readonly place: string;
}

export function* fieldsIn(schema: GraphQLSchema): Generator<TypedField> {
  for (const type of Object.values(schema.getTypeMap())) {
    if (isIntrospectionType(type) || !(isObjectType(type) || isInterfaceType(type))) continue;
    for (const field of Object.values(type.getFields())) {
      yield { type, field, place: `${type.name}.${field.name}` };
    }
  }
}
