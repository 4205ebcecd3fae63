import type { DocumentNode } from 'graphql';
import { LRUCache } from 'lru-cache';

import type { Caller } from '../auth/scopes.ts';
import { createFairQueue } from './fair-queue.ts';
import type { Manifest } from './manifest.ts';

// Nearly all documents of real clients are shorter. They neither wait for longer ones nor are evicted by
// them, also where all callers have the address of one proxy.
const MAX_SHORT_LENGTH = 1000;

// A node of a parsed document, its location and its tokens take 250 to 490 bytes for each token.
const BYTES_PER_TOKEN = 500;
const MAX_CACHED = 1000;
const MAX_CACHED_BYTES = 50_000_000;

// A caller gives up that gets no response for longer.
const MAX_WAIT_MS = 2000;
const MAX_WAITING = 500;
const MAX_WAITING_OF_CALLER = 250;

function bytesOf({ loc }: DocumentNode, text: string): number {
  let tokens = 0;
  for (let token = loc?.startToken; token; token = token.next ?? undefined) tokens += 1;
  return tokens * BYTES_PER_TOKEN + text.length;
}

/** Creates a cache and a queue of documents. */
function createSection(maxWaitMs: number) {
  return {
    cache: new LRUCache<string, DocumentNode>({
      max: MAX_CACHED,
      maxSize: MAX_CACHED_BYTES,
      sizeCalculation: bytesOf,
    }),
    enqueue: createFairQueue({
      concurrency: 1,
      maxWaiting: MAX_WAITING,
      maxWaitingOfCaller: MAX_WAITING_OF_CALLER,
      maxWaitMs,
    }),
  };
}

/**
 * Creates the caches and queues of documents. Callers without a token have their own, so that nobody
 * with a token waits for a stranger, or loses a cached document to one.
 */
export function createDocuments(manifest: Manifest | undefined, responseTimeoutMs: number) {
  const trusted = new Map(
    Array.from(manifest?.values() ?? [], ({ text, parsed }) => [text, parsed]),
  );
  const valid = new WeakSet<DocumentNode>(trusted.values());
  const maxWaitMs = Math.min(MAX_WAIT_MS, responseTimeoutMs);
  const createSections = () => ({
    short: createSection(maxWaitMs),
    long: createSection(maxWaitMs),
  });
  const strangers = createSections();
  const known = createSections();
  const sectionOf = (text: string, { subject }: Caller) => {
    const { short, long } = subject === undefined ? strangers : known;
    return text.length > MAX_SHORT_LENGTH ? long : short;
  };
  return {
    /** Returns the valid document of this text, if the caller shares a cache that has it. */
    find: (text: string, caller: Caller) =>
      trusted.get(text) ?? sectionOf(text, caller).cache.get(text),
    /** Whether a document was found, or was added: then it is valid. */
    has: (document: DocumentNode) => valid.has(document),
    /** Adds a valid document whose operation is executed. */
    add: (document: DocumentNode, caller: Caller): void => {
      const text = document.loc?.source.body;
      if (text === undefined || valid.has(document)) return;
      valid.add(document);
      sectionOf(text, caller).cache.set(text, document);
    },
    /** Returns the queue in which a new document waits for its turn. */
    queueOf: (text: string, caller: Caller) => sectionOf(text, caller).enqueue,
  };
}

/** The documents of executed operations by their text, and the trusted ones, which are never evicted. */
export type Documents = ReturnType<typeof createDocuments>;
