import type { IncomingHttpHeaders } from 'node:http';

import { GatewayError } from '../../contract/gateway-error.ts';

/**
 * The header with a position in the write-ahead log. A gateway with replicas sends it with the HTTP response to a
 * mutation, and clients can send it with later requests. The position is in bytes, and has the same meaning on all
 * servers of a cluster.
 */
export const POSITION_HEADER = 'Store-Position';

const FORM = /^[\da-f]{16}$/;

export const formatPosition = (position: bigint): string => position.toString(16).padStart(16, '0');

/**
 * Returns the position in a request's headers; undefined without the header.
 * @throws GatewayError (BAD_REQUEST) if it is malformed
 */
export function positionOf(headers: IncomingHttpHeaders): bigint | undefined {
  const header = headers['store-position'];
  if (header === undefined) return undefined;
  if (typeof header !== 'string' || !FORM.test(header)) {
    throw new GatewayError(
      'BAD_REQUEST',
      `${POSITION_HEADER} must be the value from a mutation's response.`,
    );
  }
  return BigInt(`0x${header}`);
}
