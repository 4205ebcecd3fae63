import type { IncomingHttpHeaders } from 'node:http';

import Negotiator from 'negotiator';

// Of an Accept header: parameters other than the weight `q`, which no response of ours has.
const PARAMETER = /;\s*(?!q=)[\w-]+=("[^"]*"|[^,;]*)/gi;

/**
 * Returns the media type that a caller prefers (RFC 9110 §12.5.1), the first one if it accepts anything,
 * or undefined if it accepts none of them.
 */
export function preferredType<Type extends string>(
  { accept }: IncomingHttpHeaders,
  types: readonly Type[],
): Type | undefined {
  const headers = { accept: accept?.replaceAll(PARAMETER, '') || '*/*' };
  const preferred = new Negotiator({ headers }).mediaType([...types]);
  return types.find((type) => type === preferred);
}
