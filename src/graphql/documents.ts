import type { DocumentNode, GraphQLError } from 'graphql';
import { LRUCache } from 'lru-cache';

import type { Manifest } from './manifest.ts';

// A parsed document takes about 200 bytes for each of its characters: 100 MB at most.
const BOUNDS = {
  max: 200,
  maxSize: 500_000,
  sizeCalculation: (_parsed: unknown, text: string) => text.length,
};

/** The documents of recent requests by their text, and the trusted ones, which are never evicted. */
export interface Documents {
  /** The form in which Yoga's cache gets parsed documents. */
  readonly parsed: {
    readonly get: (text: string) => DocumentNode | undefined;
    readonly set: (text: string, document: DocumentNode) => unknown;
  };
  /** The errors of texts that can't be parsed. */
  readonly parseErrors: LRUCache<string, Error>;
  /** The errors of each parsed document that was validated; none of a valid one. */
  readonly validationErrors: WeakMap<DocumentNode, readonly GraphQLError[]>;
  /** Returns the document of this text if it is known to be valid. */
  readonly findValid: (text: string) => DocumentNode | undefined;
}

/** Creates the caches of documents. */
export function createDocuments(manifest: Manifest | undefined): Documents {
  const trusted = new Map(
    Array.from(manifest?.values() ?? [], ({ text, parsed }) => [text, parsed]),
  );
  const recent = new LRUCache<string, DocumentNode>(BOUNDS);
  const validationErrors = new WeakMap<DocumentNode, readonly GraphQLError[]>();
  for (const document of trusted.values()) validationErrors.set(document, []);
  const get = (text: string): DocumentNode | undefined => trusted.get(text) ?? recent.get(text);
  return {
    parsed: { get, set: (text, document) => recent.set(text, document) },
    parseErrors: new LRUCache<string, Error>(BOUNDS),
    validationErrors,
    findValid: (text) => {
      const document = get(text);
      return document && validationErrors.get(document)?.length === 0 ? document : undefined;
    },
  };
}
