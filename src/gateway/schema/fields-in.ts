import {
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
} from 'graphql';

export interface Output {
  readonly type: GraphQLNamedType;
  readonly field: GraphQLField<unknown, unknown>;
}

/** Yields the fields of a schema, with their types. */
export function* fieldsIn(schema: GraphQLSchema): Generator<Output> {
  for (const type of Object.values(schema.getTypeMap())) {
    if (isIntrospectionType(type) || !(isObjectType(type) || isInterfaceType(type))) continue;
    for (const field of Object.values(type.getFields())) yield { type, field };
  }
}
