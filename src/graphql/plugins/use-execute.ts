import type { Plugin } from 'graphql-yoga';

import type { CallContext, Exchange } from '../../context.ts';
import { operationOf } from '../analysis/operation.ts';
import type { Execute } from '../execution/call.ts';

/** Lets Yoga execute operations by `execute`. */
export const useExecute = (execute: Execute): Plugin<CallContext & Exchange> => ({
  onExecute: ({ setExecuteFn }) => {
    setExecuteFn(({ schema, document, operationName, variableValues, contextValue }) => {
      const operation = operationOf(document, operationName);
      if (!operation) throw new Error('Yoga executes a document without the operation.');
      return execute({
        schema,
        operation,
        variables: variableValues ?? {},
        context: contextValue,
      });
    });
  },
});
