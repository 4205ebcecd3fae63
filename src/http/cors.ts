import type { IncomingMessage, ServerResponse } from 'node:http';

import cors from 'cors';

import type { Config } from '../config/config.ts';

// Headers that browsers would hide from the scripts of other sites.
const EXPOSED = ['Deprecation', 'Sunset', 'Link', 'ETag', 'WWW-Authenticate', 'X-Request-Id'];
const MAX_AGE_SECONDS = 600;

/**
 * Creates the function that lets pages of the configured sites call
 * (https://fetch.spec.whatwg.org/#http-cors-protocol), always without credentials. It adds the headers
 * to a response, and returns whether the request was a preflight, to which it then has responded.
 */
export function createCors({
  corsOrigins,
}: Config): (request: IncomingMessage, response: ServerResponse) => boolean {
  if (corsOrigins.length === 0) return () => false;
  const isOpen = corsOrigins.includes('*');
  const share = cors({
    origin: isOpen ? '*' : [...corsOrigins],
    methods: ['GET', 'HEAD', 'POST'],
    exposedHeaders: EXPOSED,
    maxAge: MAX_AGE_SECONDS,
  });
  return (request, response) => {
    const { origin = '', 'access-control-request-method': requested } = request.headers;
    // A cache must not give one site the response to another.
    if (!isOpen) response.setHeader('Vary', 'Origin');
    const isAllowed = isOpen || corsOrigins.includes(origin);
    // The package takes every OPTIONS for a preflight, and responds to other sites in part.
    const isPlainOptions = request.method === 'OPTIONS' && requested === undefined;
    if (!isAllowed || isPlainOptions) return false;
    let isPreflight = true;
    share(request, response, () => {
      isPreflight = false;
    });
    return isPreflight;
  };
}
