import {
  type Attributes,
  isSpanContextValid,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { type ExecutionResult, getOperationAST, type OperationDefinitionNode } from 'graphql';
import type { Plugin } from 'graphql-yoga';

import { operationNameOf } from './use-request-log.ts';

/** As the conventions have it, but without the document, which may hold values. */
const attributesOf = (operation: OperationDefinitionNode): Attributes => ({
  'graphql.operation.type': operation.operation,
  'graphql.operation.name': operationNameOf(operation),
});

/**
 * Makes a span of each operation that is executed, within that of its request
 * (https://opentelemetry.io/docs/specs/semconv/graphql/graphql-spans/); nothing at all unless
 * OpenTelemetry was set up before the start.
 */
export function useTracing(): Plugin | false {
  const tracer = trace.getTracer('pet-store-gateway');
  // Without an SDK a span belongs to no trace; with one it does, whether or not it is recorded.
  const first = tracer.startSpan('start');
  first.end();
  if (!isSpanContextValid(first.spanContext())) return false;
  return {
    onExecute: ({ args: { document, operationName }, executeFn, setExecuteFn }) => {
      const operation = getOperationAST(document, operationName);
      if (!operation) return;
      const options = { kind: SpanKind.SERVER, attributes: attributesOf(operation) };
      setExecuteFn((args) =>
        tracer.startActiveSpan(operation.operation, options, async (span) => {
          try {
            const result: ExecutionResult = await executeFn(args);
            if (result.errors) span.setStatus({ code: SpanStatusCode.ERROR });
            return result;
          } finally {
            span.end();
          }
        }),
      );
    },
  };
}
