import type { GraphQLParams, Plugin } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';

import type { Config } from '../../config/config.ts';
import { StoreError } from '../../contract/errors.ts';
import { HASH_PREFIX, hashOf, type Manifest, withoutPrefix } from '../manifest.ts';

// Of what callers sent with its hash so much is kept; what was not asked for longest goes first.
const MAX_KEPT = 10_000;
const MAX_KEPT_LENGTH = 10_000_000;

/** The parameters of a request, with the id of its document in one form. */
export interface DocumentParams extends GraphQLParams {
  /** Begins with `sha256:` if it is said to be the hash of the document. */
  readonly documentId?: string;
}

/** Where callers put an id: GraphQL over HTTP, then Apollo and urql, then Relay. */
interface Given extends GraphQLParams {
  readonly documentId?: unknown;
  readonly doc_id?: unknown;
  readonly id?: unknown;
}

const isNonEmptyString = (value: unknown): value is string =>
  typeof value === 'string' && value !== '';

/** The id of the document that is asked for; undefined where there is none, or no string. */
export function documentIdOf({ documentId, extensions, doc_id, id }: Given): string | undefined {
  const hash: unknown = extensions?.['persistedQuery']?.sha256Hash;
  return [documentId, isNonEmptyString(hash) ? HASH_PREFIX + hash : undefined, doc_id, id].find(
    isNonEmptyString,
  );
}

/**
 * Finds the document of a request, by its id or as its text. An id of the manifest goes before any
 * text; in mode `automatic` a text that comes with its hash is kept for whoever sends the hash alone.
 */
export function usePersistedDocuments(
  mode: Config['documents'],
  manifest: Manifest | undefined,
): Plugin {
  const kept =
    mode === 'automatic'
      ? new LRUCache<string, string>({
          max: MAX_KEPT,
          maxSize: MAX_KEPT_LENGTH,
          sizeCalculation: ({ length }) => length,
        })
      : undefined;
  // By the context of the request: only what turns out to be valid may push others out.
  const toKeep = new WeakMap<object, { hash: string; text: string }>();

  const checkHash = (hash: string, text: string, context: object): void => {
    if (kept?.get(hash) === text) return;
    if (hashOf(text) !== hash) {
      throw new StoreError('BAD_REQUEST', 'The hash is not the SHA-256 of the document.');
    }
    if (kept) toKeep.set(context, { hash, text });
  };

  const findById = (documentId: string, text: string | undefined, context: object): string => {
    const id = withoutPrefix(documentId);
    const trusted = manifest?.get(id);
    if (trusted) return trusted.text;
    if (text && id !== documentId) checkHash(id, text, context);
    const found = text || kept?.get(id);
    if (found) return found;
    // Clients look for these very messages before they send the text instead.
    throw manifest || kept
      ? new StoreError('PERSISTED_QUERY_NOT_FOUND', 'PersistedQueryNotFound')
      : new StoreError('PERSISTED_QUERY_NOT_SUPPORTED', 'PersistedQueryNotSupported');
  };

  return {
    onParams: ({ params, setParams, context }) => {
      const { documentId, query, ...others }: DocumentParams = params;
      const text = mode === 'trusted' ? undefined : query;
      const found = documentId ? findById(documentId, text, context) : text;
      if (!found) {
        throw mode === 'trusted'
          ? new StoreError('PERSISTED_QUERY_ID_REQUIRED')
          : new StoreError('BAD_REQUEST', 'There is neither a query nor a documentId.');
      }
      setParams({ ...others, query: found });
    },
    onValidate: ({ context }) => {
      const document = toKeep.get(context);
      return document && (({ valid }) => void (valid && kept?.set(document.hash, document.text)));
    },
  };
}
