import type { IncomingHttpHeaders } from 'node:http';

import { LRUCache } from 'lru-cache';
import Negotiator from 'negotiator';

// Of an Accept header: parameters other than the weight `q`, which no response of ours has.
const PARAMETER = /;\s*(?!q=)[\w-]+=("[^"]*"|[^,;]*)/gi;

// By the types and the header: most callers send one of few headers, and to parse one takes longer than a small operation.
const preferences = new LRUCache<string, string>({
  max: 1000,
  maxSize: 100_000,
  sizeCalculation: (_type, key) => key.length,
});

/**
 * Returns the media type that a caller prefers (RFC 9110 §12.5.1), the first one if it accepts anything,
 * or undefined if it accepts none of them.
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
