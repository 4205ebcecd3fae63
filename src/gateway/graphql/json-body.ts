import type { IncomingHttpHeaders } from 'node:http';

import type { FastifyInstance, FastifyRequest } from 'fastify';

import type { Limits } from '../config/config.ts';
import { GatewayError } from '../contract/gateway-error.ts';
import { JSON_TYPE } from './media-types.ts';
import { parseBody } from './params.ts';

/** Lets the routes of a plugin read JSON, and no other bodies. Forms on other sites can't send this type. */
export function parseJsonBodies(app: FastifyInstance, limits: Limits): void {
  app.addContentTypeParser(
    JSON_TYPE,
    { parseAs: 'buffer', bodyLimit: limits.maxBodyBytes },
    async ({ headers }: FastifyRequest, body: Buffer) => parseBody(body, headers, limits),
  );
}

/** Rejects a body without a type, which Fastify would ignore, or with an encoding. @throws GatewayError */
export function requirePlainBody({
  'content-type': type,
  'content-encoding': encoding = '',
}: IncomingHttpHeaders): void {
  if (!type || !/^(identity)?$/i.test(encoding.trim())) {
    throw new GatewayError('UNSUPPORTED_MEDIA_TYPE');
  }
}
