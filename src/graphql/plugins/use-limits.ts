import type { GraphQLParams, Plugin } from 'graphql-yoga';

import type { CallContext } from '../../context.ts';
import { operationOf } from '../analysis/operation.ts';
import { type Bounds, parseWithin, validateWithin } from '../analysis/validation.ts';
import { checkReadScope } from '../execution/require-read-scope.ts';
import { schema } from '../schema.ts';

/**
 * Rejects documents that are too large before they are validated, and before that an operation that its
 * caller may not execute, so that it takes little time.
 */
export const useLimits = (bounds: Bounds): Plugin<CallContext & { params: GraphQLParams }> => ({
  onParse: ({ setParseFn }) => {
    setParseFn((source) => parseWithin(bounds.limits, source));
  },
  onValidate: ({ params: { documentAST }, context: { params, caller }, setValidationFn }) => {
    const operation = operationOf(documentAST, params.operationName);
    if (operation) checkReadScope(schema, operation, caller);
    setValidationFn((_schema, document) => validateWithin(bounds, schema, document));
  },
});
