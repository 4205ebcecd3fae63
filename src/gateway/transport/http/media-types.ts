import type { IncomingHttpHeaders } from 'node:http';

import Negotiator from 'negotiator';

import { EVENT_STREAM } from '../event-stream.ts';

export const JSON_TYPE = 'application/json';
export const GRAPHQL_TYPE = 'application/graphql-response+json';

/** The media types of a response. The first type is used for clients that accept any type. */
export const GRAPHQL_TYPES = [JSON_TYPE, GRAPHQL_TYPE, EVENT_STREAM] as const;

const PAGE = 'text/html';

const KNOWN_TYPES = [...GRAPHQL_TYPES, PAGE];

// Matches the parameters in an Accept header other than the weight `q`. The types to choose from have no parameters.
const PARAMETER = /;\s*(?!q=)[\w-]+=("[^"]*"|[^,;]*)/gi;

// The known types that an Accept header accepts, the preferred ones first. Clients send few different headers, and parsing
// one takes up to 3 µs.
const acceptedBy = new Map<string, readonly string[]>();
const MAX_HEADERS = 100;

function findAccepted(accept: string): readonly string[] {
  const known = acceptedBy.get(accept);
  if (known) return known;
  if (acceptedBy.size === MAX_HEADERS) acceptedBy.clear();
  const negotiator = new Negotiator({ headers: { accept: accept.replaceAll(PARAMETER, '') } });
  const accepted = negotiator.mediaTypes(KNOWN_TYPES);
  acceptedBy.set(accept, accepted);
  return accepted;
}

/**
 * Returns the media type that the client prefers (RFC 9110 §12.5.1), the first type if it accepts anything, or
 * undefined if it accepts none of the types.
 */
export function preferredType<Type extends string>(
  { accept }: IncomingHttpHeaders,
  types: readonly Type[],
): Type | undefined {
  const isOneOf = (type: string): type is Type => types.some((one) => one === type);
  return findAccepted(accept || '*/*').find(isOneOf);
}

/** Whether a browser navigates to a page. A page can't open as a WebSocket. */
export const wantsPage = (headers: IncomingHttpHeaders): boolean =>
  headers.upgrade === undefined && preferredType(headers, KNOWN_TYPES) === PAGE;
