import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import { GRAPHQL_PATH } from '../graphql/endpoint.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { type RequestLog, runFor, watchRequest } from '../telemetry/request-log.ts';
import type { Turns } from './connections.ts';
import { type FindPath, templateOf } from './known-paths.ts';
import { ignoreLongLists } from './requests.ts';
import type { ShutdownState } from './shutdown.ts';

/** Returns the path template of a request. The path itself would let callers create any number of label values. */
function routeOf({ is404, url, routeOptions }: FastifyRequest, findPath: FindPath): string {
  if (is404) return findPath(url)?.route ?? 'other';
  return templateOf(routeOptions.url ?? '', routeOptions.config);
}

/** Whether a request is for the store, and not for a page or an operator's tool. */
const isOfStore = ({ is404, routeOptions: { config, url } }: FastifyRequest): boolean =>
  is404 || config.route !== undefined || url === GRAPHQL_PATH;

interface BeginOptions {
  readonly turns: Turns;
  readonly shutdown: ShutdownState;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly findPath: FindPath;
}

/** Adds the hook with which every request begins: it waits for its turn, and is logged and measured from then on. */
export function beginRequests(
  app: FastifyInstance,
  { turns, shutdown, log, metrics, findPath }: BeginOptions,
): void {
  const watch = (request: FastifyRequest, { raw: res }: FastifyReply): void => {
    const { raw: req, requestLog } = request;
    const end = watchRequest({ log, metrics }, requestLog);
    res.once('close', () =>
      end({
        method: req.method,
        route: routeOf(request, findPath),
        // Node.js counts data as written even if a destroyed socket dropped it.
        status: res.writableFinished && !req.socket.destroyed ? res.statusCode : 'aborted',
        level: isOfStore(request) || requestLog.reason ? 'info' : 'debug',
      }),
    );
  };
  app.decorateRequest('requestLog');
  app.addHook('onRequest', (request, reply, done) => {
    const { raw: req, id } = request;
    const { raw: res } = reply;
    turns.take(req, res, id, () => {
      const requestLog: RequestLog = { id };
      request.requestLog = requestLog;
      ignoreLongLists(req.headers);
      // When node:http (20 to 26) ignores an Upgrade, it drops the rest of the chunk that contained the request. The data
      // that follows could be the body of a dropped request, and be mistaken for a request.
      if (shutdown.hasStarted || req.headers.upgrade !== undefined) res.shouldKeepAlive = false;
      void reply.headers({
        'X-Request-Id': id,
        // Browsers must not guess another Content-Type.
        'X-Content-Type-Options': 'nosniff',
        ...request.routeOptions.config.headers,
      });
      // Of a WebSocket, each operation counts as a request.
      if (!request.ws) watch(request, reply);
      runFor(requestLog, done);
    });
  });
}
