import { MapperKind, mapSchema } from '@graphql-tools/utils';
import { execute, getNullableType, type GraphQLSchema, OperationTypeNode } from 'graphql';

import { MAX_VALIDATION_ERRORS } from '../analysis/validation.ts';
import type { Call, Execute } from './call.ts';

/**
 * Returns a copy of the schema in which every mutation, and every field that reads other rows, may be
 * null. Mutations are executed with it: if one fails, or a read after a write, only that field is null,
 * with its error, and the caller still has what was written. In the schema itself the error would make
 * the whole data null.
 */
const withNullableResults = (schema: GraphQLSchema): GraphQLSchema =>
  mapSchema(schema, {
    [MapperKind.MUTATION_ROOT_FIELD]: (config) => ({
      ...config,
      type: getNullableType(config.type),
    }),
    [MapperKind.OBJECT_FIELD]: (config) =>
      config.extensions?.sql ? { ...config, type: getNullableType(config.type) } : config,
  });

/** Creates the function that executes operations by graphql-js. */
export function createExecuteByGraphqlJs(): Execute {
  const copies = new WeakMap<GraphQLSchema, GraphQLSchema>();
  const schemaFor = ({ schema, operation }: Call): GraphQLSchema => {
    if (operation.node.operation !== OperationTypeNode.MUTATION) return schema;
    const copy = copies.get(schema) ?? withNullableResults(schema);
    copies.set(schema, copy);
    return copy;
  };
  return (call) => {
    const { operation, variables, context, root } = call;
    return execute({
      schema: schemaFor(call),
      document: operation.document,
      operationName: operation.node.name?.value,
      variableValues: variables,
      contextValue: context,
      rootValue: root,
      options: { maxCoercionErrors: MAX_VALIDATION_ERRORS },
    });
  };
}
