import type { IncomingMessage, ServerResponse } from 'node:http';

import type { ExecutionResult, GraphQLSchema } from 'graphql';

import { type Caller, callerKeyOf } from '../../auth/caller.ts';
import type { Context } from '../../context.ts';
import type { Recipient } from '../../database/recipient.ts';
import type { DataSource } from '../../model/loaders.ts';
import type { RequestLog } from '../../telemetry/request-log.ts';
import type { Estimate, Variables } from '../analysis/field-cost.ts';
import type { JsonObject } from '../json-text.ts';
import type { Operation } from '../operation.ts';

/** The parameters of a request, with the document's id in a uniform form. */
export interface DocumentParams {
  readonly query?: string | undefined;
  /** Starts with `sha256:` if the client sent it with this prefix, or as a hash in `extensions`. */
  readonly documentId?: string | undefined;
  readonly variables?: JsonObject | undefined;
  readonly operationName?: string | undefined;
  readonly extensions?: JsonObject | undefined;
}

/** A request to execute an operation. */
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

/** The context that plugins get. It has no operation before accept.ts has found one. */
export interface RequestContext extends OperationRequest, Pick<Context, 'changes'> {
  readonly schema: GraphQLSchema;
  readonly recipient: Recipient;
  /** What loaders read; choose-source.ts may replace it. */
  source: DataSource;
  /** The performance.now() at which the request had been read and its token verified. */
  readonly arrivedAt: number;
  readonly operation: Operation | undefined;
  /** The variables that the operation declares. */
  readonly variables: Variables | undefined;
  readonly estimate: Estimate | undefined;
  /** The result of coerceVariables; set by its first call. */
  coerced: Record<string, unknown> | undefined;
}

/** The context of an accepted request: one operation of a valid document. */
export interface Call extends RequestContext {
  readonly operation: Operation;
  readonly variables: Variables;
  readonly estimate: Estimate;
}

/** The client of a request over HTTP, which receives its results. */
export class HttpClient implements Recipient {
  readonly requestLog: RequestLog;
  lists: Recipient['lists'] = undefined;
  readonly #request: OperationRequest;

  constructor(request: OperationRequest) {
    this.requestLog = request.requestLog;
    this.#request = request;
  }

  get callerKey(): string {
    return callerKeyOf(this.#request.caller, this.#request.req);
  }

  get destroyed(): boolean {
    return this.#request.res?.destroyed === true;
  }
}

/** The recipient of a request's writes, and of rows that other requests may share: needs them even if the client is gone. */
export class DetachedRecipient implements Recipient {
  readonly requestLog: RequestLog | undefined;
  readonly #recipient: Recipient;

  constructor(recipient: Recipient) {
    this.requestLog = recipient.requestLog;
    this.#recipient = recipient;
  }

  get callerKey(): string {
    return this.#recipient.callerKey ?? '';
  }
}

/** The key of the event id in a result of a subscription, which JSON omits. */
export const EVENT_ID = Symbol('event id');

/** Converts the result of an execution, synchronously if it is not a promise. */
export function mapResult(
  result: ExecutionResult | Promise<ExecutionResult>,
  convert: (result: ExecutionResult) => ExecutionResult,
): ExecutionResult | Promise<ExecutionResult> {
  return result instanceof Promise ? result.then(convert) : convert(result);
}
