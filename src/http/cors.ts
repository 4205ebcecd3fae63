import type { IncomingMessage, ServerResponse } from 'node:http';

import cors from 'cors';

import type { Config } from '../config.ts';

// What browsers would hide from the scripts of other sites.
const EXPOSED = ['Deprecation', 'Sunset', 'Link', 'ETag'];
const MAX_AGE_SECONDS = 600;

/**
 * Makes what lets pages of the configured sites call (https://fetch.spec.whatwg.org/#http-cors-protocol),
 * always without credentials. It answers a preflight itself, and calls `next` for anything else.
 */
export function createCors({
  corsOrigins,
}: Config): (request: IncomingMessage, response: ServerResponse, next: () => void) => void {
  if (corsOrigins.length === 0) return (_request, _response, next) => next();
  const share = cors({
    origin: corsOrigins.includes('*') ? '*' : [...corsOrigins],
    methods: ['GET', 'HEAD', 'POST'],
    exposedHeaders: EXPOSED,
    maxAge: MAX_AGE_SECONDS,
  });
  return (request, response, next) => {
    const asks = request.headers['access-control-request-method'] !== undefined;
    // The package takes every OPTIONS for a preflight.
    if (request.method === 'OPTIONS' && !asks) next();
    else share(request, response, next);
  };
}
