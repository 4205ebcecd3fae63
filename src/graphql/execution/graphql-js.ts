import { execute } from 'graphql';

import { MAX_VALIDATION_ERRORS } from '../analysis/validation.ts';
import type { Call, Execute } from './call.ts';

/** Executes an operation by graphql-js. */
export const executeByGraphqlJs: Execute = ({ schema, operation, variables, context }: Call) =>
  execute({
    schema,
    document: operation.document,
    operationName: operation.node.name?.value,
    variableValues: variables,
    contextValue: context,
    options: { maxCoercionErrors: MAX_VALIDATION_ERRORS },
  });
