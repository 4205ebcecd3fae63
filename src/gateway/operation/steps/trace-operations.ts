import {
  type Attributes,
  isSpanContextValid,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import type { Plugin } from 'graphql-yoga';

import { NAME } from '../../config/version.ts';
import type { Call } from '../request.ts';

/**
 * Creates a span for each executed operation, or for each result of a subscription, inside the span of its request
 * (https://opentelemetry.io/docs/specs/semconv/graphql/graphql-spans/). Does nothing unless OpenTelemetry was set up
 * before the gateway started.
 */
export function traceOperations(): Plugin<Call> {
  const tracer = trace.getTracer(NAME);
  // Without an SDK, spans have invalid trace ids.
  const probe = tracer.startSpan('start');
  probe.end();
  if (!isSpanContextValid(probe.spanContext())) return {};
  return {
    onExecute({ args: { contextValue }, executeFn, setExecuteFn }) {
      const { node, name } = contextValue.operation;
      // The attributes of the semantic conventions, except the document, which may contain callers' data.
      const attributes: Attributes = {
        'graphql.operation.type': node.operation,
        'graphql.operation.name': name,
      };
      const options = { kind: SpanKind.SERVER, attributes };
      setExecuteFn((args) =>
        tracer.startActiveSpan(node.operation, options, async (span) => {
          try {
            const result = await executeFn(args);
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
