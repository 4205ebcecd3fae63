import type { Plugin } from 'graphql-yoga';

import { type Bounds, parseWithin, validateWithin } from '../analysis/validation.ts';
import type { Documents } from '../documents.ts';
import { createLane } from '../lane.ts';
import { schema } from '../schema.ts';

// Nearly all documents of real clients are shorter. They do not wait for longer ones.
const MAX_SHORT_LENGTH = 1000;

/**
 * Parses and validates new documents in two lanes, so that they do not hold up requests for documents
 * that are already known: the worst document within the limits takes about 25 ms.
 */
export function useLanes(
  bounds: Bounds,
  { parsed, parseErrors, validationErrors }: Documents,
): Plugin {
  const short = createLane();
  const long = createLane();
  // Requests for a document that is waiting wait for the same turn.
  const waiting = new Map<string, Promise<void>>();
  const isExamined = (text: string): boolean => {
    const document = parsed.get(text);
    return document ? validationErrors.has(document) : parseErrors.get(text) !== undefined;
  };
  const examine = (text: string): void => {
    try {
      const document = parseWithin(bounds.limits, text);
      validationErrors.set(document, validateWithin(bounds, schema, document));
      parsed.set(text, document);
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
      if (!text || isExamined(text)) return undefined;
      const turn = waiting.get(text) ?? takeTurn(text);
      waiting.set(text, turn);
      return turn;
    },
    onValidate: ({ params: { documentAST }, setResult }) => {
      const errors = validationErrors.get(documentAST);
      if (errors) setResult(errors);
    },
  };
}
