import type { IncomingHttpHeaders } from 'node:http';

import { LRUCache } from 'lru-cache';
import Negotiator from 'negotiator';

// Of an Accept header: parameters other than the weight `q`, which no response of ours has.
const PARAMETER = /;\s*(?!q=)[\w-]+=("[^"]*"|[^,;]*)/gi;

// Most callers send one of few headers, and to parse one takes longer than a small operation.
const preferences = new LRUCache<string, string[]>({
  max: 1000,
  maxSize: 100_000,
  sizeCalculation: (_types, accept) => accept.length + 1,
});

/** Returns the accepted ones of these media types, the preferred first. */
function accepted(accept: string, types: readonly string[]): string[] {
  const key = `${types.join()} ${accept}`;
  const known = preferences.get(key);
  if (known) return known;
  const headers = { accept: accept.replaceAll(PARAMETER, '') };
  const found = new Negotiator({ headers }).mediaTypes([...types]);
  preferences.set(key, found);
  return found;
}

/**
 * Returns the media type that a caller prefers (RFC 9110 §12.5.1), the first one if it accepts anything,
 * or undefined if it accepts none of them.
 */
export function preferredType<Type extends string>(
  { accept }: IncomingHttpHeaders,
  types: readonly Type[],
): Type | undefined {
  const [preferred] = accepted(accept || '*/*', types);
  return types.find((type) => type === preferred);
}
