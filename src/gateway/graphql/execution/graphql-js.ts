import { MapperKind, mapSchema } from '@graphql-tools/utils';
import { execute, getNullableType, type GraphQLSchema, OperationTypeNode } from 'graphql';

import { perObject } from '../../database/per-object.ts';
import { MAX_VALIDATION_ERRORS } from '../analysis/validation.ts';
import type { Execute } from './call.ts';

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

const copyOf = perObject(withNullableResults);

/** Executes operations by graphql-js. After each mutation, subscribers at all gateways look for changes. */
export const executeByGraphqlJs: Execute = ({ schema, operation, variables, context, root }) => {
  const isMutation = operation.node.operation === OperationTypeNode.MUTATION;
  const result = execute({
    schema: isMutation ? copyOf(schema) : schema,
    document: operation.document,
    operationName: operation.node.name?.value,
    variableValues: variables,
    contextValue: context,
    rootValue: root,
    options: { maxCoercionErrors: MAX_VALIDATION_ERRORS },
  });
  return isMutation ? Promise.resolve(result).finally(context.changes.publishWrite) : result;
};
