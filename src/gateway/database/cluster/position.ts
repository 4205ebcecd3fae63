import type { IncomingHttpHeaders } from 'node:http';

import { GatewayError } from '../../contract/gateway-error.ts';

/**
 * The header with the position of the write-ahead log: in a response to a mutation, and in later requests. It is
 * in bytes; all servers of one store count the same bytes.
 */
export const POSITION_HEADER = 'Store-Position';

const FORM = /^[\da-f]{16}$/;

export const formatPosition = (position: bigint): string => position.toString(16).padStart(16, '0');

/**
 * Returns the position in the headers of a request; undefined if it has none.
 * @throws GatewayError (BAD_REQUEST) if it has another form
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
