import type { IncomingMessage, ServerResponse } from 'node:http';

import type { Caller } from '../auth/caller.ts';
import type { Context } from '../context.ts';
import type { Recipient } from '../database/recipient.ts';
import type { DataSource } from '../model/loaders.ts';
import type { RequestLog } from '../telemetry/request-log.ts';
import type { Estimate, VariableValues } from './accept/field-cost.ts';
import type { JsonObject } from './json-text.ts';
import type { Operation } from './operation.ts';

/** What an error of a field does to the rest of the result (https://github.com/graphql/graphql-spec/pull/1236). */
export const ERROR_BEHAVIORS = ['PROPAGATE', 'NULL', 'HALT'] as const;

/** The parameters of a request, with the document's id in a uniform form. */
export interface DocumentParams {
  readonly query?: string | undefined;
  /** Starts with `sha256:` if the client sent it with this prefix, or as a hash in `extensions`. */
  readonly documentId?: string | undefined;
  readonly variables?: JsonObject | undefined;
  readonly operationName?: string | undefined;
  readonly extensions?: JsonObject | undefined;
  readonly onError?: (typeof ERROR_BEHAVIORS)[number] | undefined;
}

/** A request to execute an operation: what its transport knows. */
export interface OperationRequest {
  readonly req: IncomingMessage;
  /** Undefined on a WebSocket, whose operations share the headers of its handshake. */
  readonly res: ServerResponse | undefined;
  readonly requestLog: RequestLog;
  /** Receives the operation's result, unless the response does. */
  readonly recipient?: Recipient | undefined;
  readonly caller: Caller;
  readonly params: DocumentParams;
  /** The text of one of the operator's documents. It runs in place of the one in `params`, whatever DOCUMENTS says. */
  readonly text?: string | undefined;
  /** Whether the request is a GET or HEAD, which must not change anything. */
  readonly isSafe?: boolean | undefined;
  /** Whether it reads the current rows even without a Store-Position, which the caller can't send. */
  readonly readsCurrent?: boolean | undefined;
  /** Whether the client can receive the results of a subscription. */
  readonly acceptsStream?: boolean | undefined;
}

/** An accepted request: one operation of a valid document. Plugins get it as their context. */
export interface Call extends OperationRequest, Pick<Context, 'changes'> {
  readonly recipient: Recipient;
  /** What loaders read; choose-source.ts and explain.ts may replace it. */
  source: DataSource;
  /** The performance.now() at which the request had been read and its token verified. */
  readonly arrivedAt: number;
  readonly operation: Operation;
  /** The variables that the operation declares. */
  readonly variables: VariableValues;
  /** These variables as graphql-js passes them on; undefined if one does not fit its type. */
  readonly coerced: Record<string, unknown> | undefined;
  readonly estimate: Estimate;
  /** Why graphql-js executes it, or has executed it after its statement, as a sentence; set by compile-queries.ts. */
  notCompiled: string | undefined;
  /** The key in the header or `extensions` of a mutation; set when it is executed. */
  idempotencyKey: string | undefined;
}

/** The key of the event id in a result of a subscription, which JSON omits. */
export const EVENT_ID = Symbol('event id');
