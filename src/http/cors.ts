import type { IncomingMessage, ServerResponse } from 'node:http';

import cors from 'cors';

import type { Config } from '../config/config.ts';

// What browsers would hide from the scripts of other sites.
const EXPOSED = ['Deprecation', 'Sunset', 'Link', 'ETag', 'WWW-Authenticate', 'X-Request-Id'];
const MAX_AGE_SECONDS = 600;

/**
 * Makes what lets pages of the configured sites call (https://fetch.spec.whatwg.org/#http-cors-protocol),
 * always without credentials. It answers a preflight itself, and calls `next` for anything else.
 */
export function createCors({
  corsOrigins,
}: Config): (request: IncomingMessage, response: ServerResponse, next: () => void) => void {
  if (corsOrigins.length === 0) return (_request, _response, next) => next();
  const isOpen = corsOrigins.includes('*');
  const share = cors({
    origin: isOpen ? '*' : [...corsOrigins],
    methods: ['GET', 'HEAD', 'POST'],
    exposedHeaders: EXPOSED,
    maxAge: MAX_AGE_SECONDS,
  });
  return (request, response, next) => {
    const { origin = '', 'access-control-request-method': asked } = request.headers;
    // A cache must not give one site what was answered to another.
    if (!isOpen) response.setHeader('Vary', 'Origin');
    const isNamed = isOpen || corsOrigins.includes(origin);
    // The package takes every OPTIONS for a preflight, and answers those of other sites in part.
    const isOther = request.method === 'OPTIONS' && asked === undefined;
    if (!isNamed || isOther) next();
    else share(request, response, next);
  };
}
