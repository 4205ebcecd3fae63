import type { DocumentNode, GraphQLError } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { LRUCache } from 'lru-cache';

import { type Bounds, parseWithin, validateWithin } from '../analysis/validation.ts';
import { createLane } from '../lane.ts';
import type { ParsedDocuments } from '../manifest.ts';
import { schema } from '../schema.ts';

/** The caches of documents by their text, and of the errors of those that can't be parsed. */
interface Caches {
  readonly documents: ParsedDocuments;
  readonly errors: LRUCache<string, Error>;
}

// Nearly all documents of real clients are shorter. They do not wait for longer ones.
const MAX_SHORT_LENGTH = 1000;

/**
 * Parses and validates new documents in two lanes, so that they do not hold up requests for documents
 * that are already known: the worst document within the limits takes about 25 ms.
 */
export function useLanes(bounds: Bounds, { documents, errors }: Caches): Plugin {
  const verdicts = new WeakMap<DocumentNode, readonly GraphQLError[]>();
  const short = createLane();
  const long = createLane();
  // Requests for a document that is waiting wait for the same turn.
  const waiting = new Map<string, Promise<void>>();
  const examine = (text: string): void => {
    try {
      const document = parseWithin(bounds.limits, text);
      verdicts.set(document, validateWithin(bounds, schema, document));
      documents.set(text, document);
    } catch {
      // Yoga finds the same error, and caches it.
    }
  };
  const takeTurn = async (text: string): Promise<void> => {
    const enter = text.length > MAX_SHORT_LENGTH ? long : short;
    try {
      await enter(() => examine(text));
    } finally {
      waiting.delete(text);
    }
  };
  return {
    onParams: ({ params: { query: text } }) => {
      if (!text || documents.get(text) || errors.get(text)) return undefined;
      const turn = waiting.get(text) ?? takeTurn(text);
      waiting.set(text, turn);
      return turn;
    },
    onValidate: ({ params: { documentAST }, setResult }) => {
      const verdict = verdicts.get(documentAST);
      if (verdict) setResult(verdict);
    },
  };
}
