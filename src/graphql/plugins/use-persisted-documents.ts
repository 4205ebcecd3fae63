import type { Plugin } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';

import type { Config } from '../../config/config.ts';
import { StoreError } from '../../contract/errors.ts';
import type { Documents } from '../documents.ts';
import { hashOf, type Manifest, withoutPrefix } from '../manifest.ts';
import type { DocumentParams } from '../params.ts';

// Bounds of the cache of persisted queries, in documents and characters; the least recently used document
// is removed first.
const MAX_CACHED = 10_000;
const MAX_CACHED_LENGTH = 10_000_000;

/**
 * Finds the document of a request by its id or takes its text. An id of the manifest has precedence over
 * a text. In mode `automatic`, a text that is sent with its hash is cached for later requests that only
 * have the hash.
 */
export function usePersistedDocuments(
  mode: Config['documents'],
  manifest: Manifest | undefined,
  { findValid }: Documents,
): Plugin {
  const cache =
    mode === 'automatic'
      ? new LRUCache<string, string>({
          max: MAX_CACHED,
          maxSize: MAX_CACHED_LENGTH,
          sizeCalculation: ({ length }) => length,
        })
      : undefined;
  // By the context of the request: only a valid document may evict others from the cache.
  const toCache = new WeakMap<object, { hash: string; text: string }>();

  const requireHash = (hash: string, text: string, context: object): void => {
    if (cache?.get(hash) === text) return;
    if (hashOf(text) !== hash) {
      throw new StoreError('BAD_REQUEST', 'The hash is not the SHA-256 of the document.');
    }
    if (findValid(text)) cache?.set(hash, text);
    else if (cache) toCache.set(context, { hash, text });
  };

  const findById = (documentId: string, text: string | undefined, context: object): string => {
    const id = withoutPrefix(documentId);
    const trusted = manifest?.get(id);
    if (trusted) return trusted.text;
    if (text && id !== documentId) requireHash(id, text, context);
    const found = text || cache?.get(id);
    if (found) return found;
    // Clients recognise exactly these messages, and then send the text.
    throw manifest || cache
      ? new StoreError('PERSISTED_QUERY_NOT_FOUND', 'PersistedQueryNotFound')
      : new StoreError('PERSISTED_QUERY_NOT_SUPPORTED', 'PersistedQueryNotSupported');
  };

  return {
    onParams: ({ params, setParams, context }) => {
      const { documentId, query, ...others }: DocumentParams = params;
      const text = mode === 'trusted' ? undefined : query;
      if (text && !documentId) return;
      const found = documentId ? findById(documentId, text, context) : text;
      if (!found) {
        throw mode === 'trusted'
          ? new StoreError('PERSISTED_QUERY_ID_REQUIRED')
          : new StoreError('BAD_REQUEST', 'The request has neither query nor documentId.');
      }
      setParams({ ...others, query: found });
    },
    onValidate: ({ context }) => {
      const document = toCache.get(context);
      return document && (({ valid }) => void (valid && cache?.set(document.hash, document.text)));
    },
  };
}
