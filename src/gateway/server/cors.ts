import cors, { type FastifyCorsOptions } from '@fastify/cors';
import type { FastifyInstance, FastifyRequest } from 'fastify';

import type { Config } from '../config/config.ts';

// Response headers that browsers would hide from pages on other sites.
const EXPOSED =
  'Deprecation,Sunset,Link,ETag,WWW-Authenticate,X-Request-Id,Retry-After,Store-Position';
const PREFLIGHT_SECONDS = 600;

/**
 * Lets pages from the configured origins send requests, always without credentials
 * (https://fetch.spec.whatwg.org/#http-cors-protocol).
 */
export async function allowOrigins(app: FastifyInstance, { corsOrigins }: Config): Promise<void> {
  if (corsOrigins.length === 0) return;
  await app.register(
    cors,
    () =>
      async ({ headers }: FastifyRequest): Promise<FastifyCorsOptions> => {
        const { origin = '', 'access-control-request-method': requested } = headers;
        return {
          origin: corsOrigins.includes('*') ? '*' : corsOrigins.includes(origin) && origin,
          methods: 'GET,HEAD,POST',
          exposedHeaders: EXPOSED,
          maxAge: PREFLIGHT_SECONDS,
          preflight: requested !== undefined,
          strictPreflight: false,
        };
      },
  );
}
