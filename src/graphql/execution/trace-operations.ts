import {
  type Attributes,
  isSpanContextValid,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';

import type { Operation } from '../analysis/operation.ts';
import type { Execute } from './call.ts';

/** The attributes of the semantic conventions without the document, which may contain values. */
const attributesOf = ({ node, name }: Operation): Attributes => ({
  'graphql.operation.type': node.operation,
  'graphql.operation.name': name,
});

/**
 * Creates a span for each operation that is executed, within the span of its request
 * (https://opentelemetry.io/docs/specs/semconv/graphql/graphql-spans/). Does nothing unless
 * OpenTelemetry was set up before the start.
 */
export function traceOperations(next: Execute): Execute {
  const tracer = trace.getTracer('pet-store-gateway');
  // Without an SDK, a span has no valid trace id.
  const probe = tracer.startSpan('start');
  probe.end();
  if (!isSpanContextValid(probe.spanContext())) return next;
  return (call) => {
    const { operation } = call;
    const options = { kind: SpanKind.SERVER, attributes: attributesOf(operation) };
    return tracer.startActiveSpan(operation.node.operation, options, async (span) => {
      try {
        const result = await next(call);
        if (result.errors) span.setStatus({ code: SpanStatusCode.ERROR });
        return result;
      } finally {
        span.end();
      }
    });
  };
}
