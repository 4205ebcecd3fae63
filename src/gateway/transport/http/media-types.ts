import type { IncomingHttpHeaders } from 'node:http';

import { LRUCache } from 'lru-cache';
import Negotiator from 'negotiator';

import { EVENT_STREAM } from '../event-stream.ts';

export const JSON_TYPE = 'application/json';
/** The Content-Type of JSON. */
export const JSON_CONTENT_TYPE = 'application/json; charset=utf-8';

export const GRAPHQL_TYPE = 'application/graphql-response+json';

/** The media types of a response. The first type is used for clients that accept any type. */
export const GRAPHQL_TYPES = [JSON_TYPE, GRAPHQL_TYPE, EVENT_STREAM] as const;

const HTML_TYPE = 'text/html';
const KNOWN_TYPES = [...GRAPHQL_TYPES, HTML_TYPE];

// Matches the parameters in an Accept header other than the weight `q`. The types to choose from have no parameters.
const PARAMETER = /;\s*(?!q=)[\w-]+=("[^"]*"|[^,;]*)/gi;

// The known types by Accept header, the preferred ones first. Clients send few different headers; parsing one takes 3 µs.
const acceptedBy = new LRUCache<string, readonly string[]>({ max: 100 });

function findAccepted(accept: string): readonly string[] {
  const cached = acceptedBy.get(accept);
  if (cached) return cached;
  const negotiator = new Negotiator({ headers: { accept: accept.replaceAll(PARAMETER, '') } });
  const accepted = negotiator.mediaTypes(KNOWN_TYPES);
  acceptedBy.set(accept, accepted);
  return accepted;
}

/** Returns the type that the client prefers (RFC 9110 §12.5.1); the first for any; undefined for none of them. */
export function preferredType<Type extends string>(
  { accept }: IncomingHttpHeaders,
  types: readonly Type[],
): Type | undefined {
  const isOneOf = (type: string): type is Type => types.some((one) => one === type);
  return findAccepted(accept || '*/*').find(isOneOf);
}

/** Whether a browser navigates to a page. A page can't open as a WebSocket. */
export const wantsPage = (headers: IncomingHttpHeaders): boolean =>
  headers.upgrade === undefined && preferredType(headers, KNOWN_TYPES) === HTML_TYPE;
