import { createYoga, type YogaServerInstance } from 'graphql-yoga';
import type { IncomingMessage, ServerResponse } from 'node:http';

import { LRUCache } from 'lru-cache';

import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { useClientErrors } from './client-errors.ts';
import type { Context } from '../context.ts';
import { useDeprecations } from './deprecations.ts';
import { useJit } from './jit.ts';
import { useMetrics } from './metrics.ts';
import { useParameters } from './parameters.ts';
import { schema } from './schema.ts';

// How many documents, at most 50 kB each, are kept parsed.
const MAX_DOCUMENTS = 200;

interface NodeContext {
  req: IncomingMessage;
  res: ServerResponse;
}

export type GraphqlHandler = YogaServerInstance<NodeContext, Context>;

/** GraphQL over HTTP at /graphql. */
export function createGraphqlHandler(context: Context, log: Log, metrics: Metrics): GraphqlHandler {
  return createYoga<NodeContext, Context>({
    schema,
    context,
    plugins: [
      useParameters(),
      useJit(),
      useDeprecations(),
      useMetrics(metrics),
      useClientErrors(log),
    ],
    logging: false,
    // useClientErrors masks every error, those of parsing and validation too.
    maskedErrors: false,
    parserAndValidationCache: {
      documentCache: new LRUCache({ max: MAX_DOCUMENTS }),
      errorCache: new LRUCache({ max: MAX_DOCUMENTS }),
    },
    maxRequestBodySize: false,
    multipart: false,
    cors: false,
    graphiql: false,
    landingPage: false,
  });
}
