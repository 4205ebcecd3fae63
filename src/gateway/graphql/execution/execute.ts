import { OperationTypeNode } from 'graphql';

import type { Config } from '../../config/config.ts';
import type { Context } from '../../context.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Documents } from '../documents.ts';
import { type Execute, inOrder, type Step } from './call.ts';
import { checkArguments } from './check-arguments.ts';
import { compileQueries } from './compile-queries.ts';
import { executeByGraphqlJs } from './graphql-js.ts';
import { limitResponse } from './limit-cost.ts';
import { limitTime } from './limit-time.ts';
import { readFromReplicas } from './read-from-replicas.ts';
import { reportDeprecations } from './report-deprecations.ts';
import { traceOperations } from './trace-operations.ts';

/** Caches the document of an operation that is not rejected. */
const cacheDocument =
  (documents: Documents): Step =>
  (next) =>
  (call) => {
    const result = next(call);
    // A rejection is immediate and has no data. Other requests wait for the document, but not for the store.
    const isExecuted = result instanceof Promise || 'data' in result;
    if (isExecuted) documents.add(call.operation.document, call.context.caller);
    return result;
  };

/** Tells subscribers at all gateways, after each mutation, that there may be changes. */
const publishWrites: Step = (next) => (call) => {
  if (call.operation.node.operation !== OperationTypeNode.MUTATION) return next(call);
  return Promise.resolve(next(call)).finally(call.context.changes.publishWrite);
};

/** Creates the function that executes queries and mutations. */
export function createExecute(
  { loaders, reads }: Context,
  config: Config,
  documents: Documents,
  log: Log,
): Execute {
  const { limits, responseTimeoutMs } = config;
  const steps = [
    cacheDocument(documents),
    limitResponse(limits),
    reportDeprecations,
    traceOperations,
    limitTime(responseTimeoutMs),
    reads && readFromReplicas(reads, log),
    publishWrites,
    compileQueries(loaders),
    checkArguments(config),
  ];
  return inOrder(
    steps.filter((step) => step !== undefined),
    executeByGraphqlJs,
  );
}
