import type { Plugin } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';

import type { Caller } from '../../auth/scopes.ts';
import type { Config } from '../../config/config.ts';
import type { CallContext } from '../../context.ts';
import { GatewayError } from '../../contract/gateway-error.ts';
import type { Documents } from '../documents.ts';
import { hashOf, type Manifest, withoutPrefix } from '../manifest.ts';
import type { DocumentParams } from '../params.ts';

// Bounds of a cache of persisted queries, in documents and characters; the least recently used document
// is removed first.
const MAX_CACHED = 10_000;
const MAX_CACHED_LENGTH = 10_000_000;

type Cache = LRUCache<string, string>;

const createCache = (): Cache =>
  new LRUCache({
    max: MAX_CACHED,
    maxSize: MAX_CACHED_LENGTH,
    sizeCalculation: ({ length }) => length,
  });

/**
 * Finds the document of a request by its id or takes its text. An id of the manifest has precedence over
 * a text. In mode `automatic`, a text that is executed with its hash is cached for later requests that only
 * have the hash. Callers without a token have a cache of their own.
 */
export function usePersistedDocuments(
  mode: Config['documents'],
  manifest: Manifest | undefined,
  documents: Documents,
): Plugin<object, CallContext> {
  const caches =
    mode === 'automatic' ? { strangers: createCache(), known: createCache() } : undefined;
  const cacheOf = ({ subject }: Caller): Cache | undefined =>
    subject === undefined ? caches?.strangers : caches?.known;
  // By the context of the request: only an executed document may evict others from the cache.
  const toCache = new WeakMap<object, { hash: string; text: string }>();

  const requireHash = (hash: string, text: string, context: CallContext): void => {
    const cache = cacheOf(context.caller);
    if (cache?.get(hash) === text) return;
    if (hashOf(text) !== hash) {
      throw new GatewayError('BAD_REQUEST', 'The hash is not the SHA-256 of the document.');
    }
    if (cache) toCache.set(context, { hash, text });
  };

  const findById = (documentId: string, text: string | undefined, context: CallContext): string => {
    const id = withoutPrefix(documentId);
    const trusted = manifest?.get(id);
    if (trusted) return trusted.text;
    if (text && id !== documentId) requireHash(id, text, context);
    const found = text || cacheOf(context.caller)?.get(id);
    if (found) return found;
    // Clients recognise exactly these messages, and then send the text.
    throw manifest || caches
      ? new GatewayError('PERSISTED_QUERY_NOT_FOUND', 'PersistedQueryNotFound')
      : new GatewayError('PERSISTED_QUERY_NOT_SUPPORTED', 'PersistedQueryNotSupported');
  };

  return {
    onParams: ({ params, setParams, context }) => {
      const { documentId, query, ...others }: DocumentParams = params;
      const text = mode === 'trusted' ? undefined : query;
      if (text && !documentId) return;
      const found = documentId ? findById(documentId, text, context) : text;
      if (!found) {
        throw mode === 'trusted'
          ? new GatewayError('PERSISTED_QUERY_ID_REQUIRED')
          : new GatewayError('BAD_REQUEST', 'The request has neither query nor documentId.');
      }
      setParams({ ...others, query: found });
    },
    ...(caches && {
      onExecutionResult: ({ context }) => {
        const { hash, text } = toCache.get(context) ?? {};
        const wasExecuted = hash && text && documents.find(text, context.caller);
        if (wasExecuted) cacheOf(context.caller)?.set(hash, text);
      },
    }),
  };
}
