import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

/** The maximum number of headers of a request. */
export const MAX_HEADERS = 1000;

/** Whether a request has more headers than allowed. node:http must keep at least one more. */
export const hasTooManyHeaders = ({ rawHeaders }: IncomingMessage): boolean =>
  // A name and a value each.
  rawHeaders.length > 2 * MAX_HEADERS;

// Split at their commas: for Accept with an open quote, negotiator 1.0.0 takes quadratic time.
const LISTS = ['accept', 'accept-encoding', 'if-none-match', 'sec-websocket-protocol'] as const;
// Browsers send less than 300.
const MAX_LIST_LENGTH = 1000;

/**
 * Ignores lists of more than 1,000 characters, as if the caller had not sent them. A server may disregard
 * what a caller prefers (RFC 9110 §12.5.1).
 */
export function ignoreLongLists(headers: IncomingHttpHeaders): void {
  for (const name of LISTS) {
    if ((headers[name]?.length ?? 0) > MAX_LIST_LENGTH) headers[name] = undefined;
  }
}
