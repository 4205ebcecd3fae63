import type { IncomingHttpHeaders } from 'node:http';

import { LRUCache } from 'lru-cache';
import Negotiator from 'negotiator';

import { EVENT_STREAM } from './event-stream.ts';

export const JSON_TYPE = 'application/json';
export const GRAPHQL_TYPE = 'application/graphql-response+json';

/** The media types of a response. The first type is used for clients that accept any type. */
export const GRAPHQL_TYPES = [JSON_TYPE, GRAPHQL_TYPE, EVENT_STREAM] as const;

// Matches the parameters in an Accept header other than the weight `q`. The types to choose from have no parameters.
const PARAMETER = /;\s*(?!q=)[\w-]+=("[^"]*"|[^,;]*)/gi;

// The keys consist of the types and the header. Clients send few different headers, and parsing a header takes longer
// than a small operation.
const preferences = new LRUCache<string, string>({
  max: 1000,
  maxSize: 100_000,
  sizeCalculation: (_type, key) => key.length,
});

/**
 * Returns the media type that the client prefers (RFC 9110 §12.5.1), the first type if it accepts anything, or
 * undefined if it accepts none of the types.
 */
export function preferredType<Type extends string>(
  headers: IncomingHttpHeaders,
  types: readonly Type[],
): Type | undefined {
  const accept = headers.accept || '*/*';
  const key = `${types.join()} ${accept}`;
  let preferred = preferences.get(key);
  if (preferred === undefined) {
    const negotiator = new Negotiator({ headers: { accept: accept.replaceAll(PARAMETER, '') } });
    preferred = negotiator.mediaType([...types]) ?? 'none';
    preferences.set(key, preferred);
  }
  return types.find((type) => type === preferred);
}
