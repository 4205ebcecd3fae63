import type { IncomingMessage } from 'node:http';

import type { ExecutionResult } from 'graphql';
import { type FetchAPI, isAsyncIterable, processRegularResult } from 'graphql-yoga';

import type { Config, Limits } from '../config/config.ts';
import type { Exchange } from '../context.ts';
import type { Log } from '../telemetry/log.ts';
import { toClientResult, toExecutionError } from './errors.ts';
import { readPost } from './params.ts';
import type { GraphqlHandler } from './yoga.ts';

const LARGE_BYTES = 65_536;

const JSON_TYPE = 'application/json';
// Yoga takes the first of these that a caller lists.
const LISTED_FIRST = /^application\/(graphql-response\+)?json(?=,|$)/;

/** The media type of the answer to a plain POST; undefined where that takes Yoga to find out. */
export function plainTypeOf({ method, headers }: IncomingMessage): string | undefined {
  if (method !== 'POST') return undefined;
  const { accept = '*/*' } = headers;
  return accept === '*/*' ? JSON_TYPE : LISTED_FIRST.exec(accept)?.[0];
}

interface PlainInit {
  readonly status: number;
  readonly headers: Record<string, string>;
}

/** What an answer is written from, in place of a Response. */
class PlainResponse {
  readonly body: string;
  readonly init: PlainInit;

  constructor(body: string, init: PlainInit) {
    this.body = body;
    this.init = init;
  }
}

// What Yoga's own plugins ask of the Request of an operation.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const POST = { method: 'POST' } as Request;
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const PLAIN = { Response: PlainResponse } as unknown as FetchAPI;

/** Executes the operation of a POST as Yoga does: whatever goes wrong is a result too. */
async function execute(
  yoga: GraphqlHandler,
  limits: Limits,
  { req, res, requestLog }: Exchange,
): Promise<ExecutionResult> {
  try {
    const params = await readPost(req, limits);
    // Yoga adds to the context that it gets. A spread would make an object that V8 is slow with.
    const result = await yoga.getResultForParams(
      { params, request: POST },
      { req, res, requestLog },
    );
    if (!result || isAsyncIterable(result)) throw new Error('The schema has no subscriptions.');
    return result;
  } catch (error) {
    return {
      errors: [toExecutionError(error instanceof Error ? error : new Error(String(error)))],
    };
  }
}

/**
 * Makes what answers a POST from node:http to node:http, past Yoga's Request and Response, which take
 * longer than a small operation. Yoga's plugins, its executor and its rules for the answer stay.
 */
export function createPostHandler(
  yoga: GraphqlHandler,
  config: Config,
  log: Log,
): (exchange: Exchange, type: string) => Promise<void> {
  return async (exchange, type) => {
    const { res, requestLog } = exchange;
    const executed = await execute(yoga, config.limits, exchange);
    const result = toClientResult(executed, config, log, requestLog);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const { body, init } = processRegularResult(result, PLAIN, type) as unknown as PlainResponse;
    const bytes = Buffer.byteLength(body);
    res.writeHead(init.status, { ...init.headers, 'Content-Length': bytes });
    // Of a text that waits for a slow reader Node.js counts characters, not bytes.
    res.end(bytes > LARGE_BYTES ? Buffer.from(body) : body);
  };
}
