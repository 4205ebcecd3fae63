import type { FastifyInstance } from 'fastify';

import type { Auth } from '../../config/config.ts';
import { JSON_CONTENT_TYPE } from '../http/request.ts';

const PATH = '/.well-known/oauth-protected-resource';

interface Resource {
  readonly title: string;
  readonly scopes: readonly string[];
}

/**
 * Serves the document that says where to get a token (RFC 9728), and adds its URL to every challenge. Only the operator
 * knows under which URL clients reach /mcp, so this requires AUTH_AUDIENCE to be that URL, as RFC 8707 has it.
 */
export function describeResource(
  app: FastifyInstance,
  { issuer, audience }: Auth,
  { title, scopes }: Resource,
): void {
  if (!/^https?:/.test(audience) || !URL.canParse(audience)) return;
  // Relative, because a proxy may serve the gateway below a prefix.
  const url = new URL(`.${PATH}`, audience).href;
  app.addHook('onSend', async (_request, reply) => {
    const challenge = reply.getHeader('WWW-Authenticate');
    if (!challenge) return;
    void reply.header('WWW-Authenticate', `${String(challenge)}, resource_metadata="${url}"`);
  });
  const metadata = JSON.stringify({
    resource: audience,
    resource_name: title,
    authorization_servers: [issuer],
    scopes_supported: scopes,
    bearer_methods_supported: ['header'],
  });
  // Clients that don't read the challenge append the resource's path (RFC 9728 §3.1).
  for (const path of [PATH, `${PATH}/mcp`]) {
    app.get(path, (_request, reply) => reply.type(JSON_CONTENT_TYPE).send(metadata));
  }
}
