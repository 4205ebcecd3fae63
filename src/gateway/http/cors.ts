import type { IncomingMessage, ServerResponse } from 'node:http';

import type { Config } from '../config/config.ts';

// Response headers that browsers would hide from pages on other sites.
const EXPOSED =
  'Deprecation,Sunset,Link,ETag,WWW-Authenticate,X-Request-Id,Retry-After,Store-Position';
const MAX_AGE_SECONDS = 600;

type Origins = Pick<Config, 'corsOrigins'>;

/** Whether pages from an origin may call the gateway. */
const isConfigured = (origin: string, { corsOrigins }: Origins): boolean =>
  corsOrigins.includes('*') || corsOrigins.includes(origin);

/**
 * Whether a request came from a page on a configured origin, or on the gateway's own origin. Pages can't set Origin
 * themselves. Browsers send Origin with CORS requests, WebSocket handshakes and POST requests
 * (https://fetch.spec.whatwg.org/#origin-header).
 */
export function isFromAllowedOrigin({ headers }: IncomingMessage, config: Origins): boolean {
  const { origin, host = '' } = headers;
  if (origin === undefined) return false;
  // Unlike Host, Origin never contains the default port of its scheme. A proxy may add the port to Host.
  const isOwn = [`http://${host}`, `https://${host}`].some(
    (url) => URL.canParse(url) && new URL(url).origin === origin,
  );
  return isOwn || isConfigured(origin, config);
}

/**
 * Creates a function that lets pages from the configured origins send requests, always without credentials
 * (https://fetch.spec.whatwg.org/#http-cors-protocol). It adds the CORS headers to the response, and returns whether
 * the request is a preflight, whose response has no other content.
 */
export function createCors(
  config: Origins,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  const { corsOrigins } = config;
  if (corsOrigins.length === 0) return () => false;
  const isOpen = corsOrigins.includes('*');
  return ({ method, headers }, response) => {
    // A cache must not reuse one origin's response for another origin.
    if (!isOpen) response.setHeader('Vary', 'Origin');
    const { origin = '', 'access-control-request-method': requested } = headers;
    if (!isConfigured(origin, config)) return false;
    response.setHeader('Access-Control-Allow-Origin', isOpen ? '*' : origin);
    response.setHeader('Access-Control-Expose-Headers', EXPOSED);
    if (method !== 'OPTIONS' || requested === undefined) return false;
    response.setHeader('Access-Control-Allow-Methods', 'GET,HEAD,POST');
    const requestHeaders = headers['access-control-request-headers'] ?? '';
    response.setHeader('Access-Control-Allow-Headers', requestHeaders);
    response.setHeader('Access-Control-Max-Age', MAX_AGE_SECONDS);
    response.setHeader('Vary', 'Origin,Access-Control-Request-Headers');
    return true;
  };
}
