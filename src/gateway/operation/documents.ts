import type { DocumentNode } from 'graphql';
import { LRUCache } from 'lru-cache';

import { type Caller, callerKeyOf } from '../auth/caller.ts';
import type { Config } from '../config/config.ts';
import { GatewayError } from '../contract/gateway-error.ts';
import { FairQueue } from '../database/fair-queue.ts';
import { RecipientGone } from '../database/recipient.ts';
import { addWait } from '../telemetry/request-log.ts';
import { hashOf, type Manifest, withoutPrefix } from './manifest.ts';
import type { DocumentParams, RequestContext } from './steps/call.ts';

// Nearly all documents of real clients are shorter than this. Such documents neither wait for longer documents nor are
// evicted by them, even if all callers share a proxy's address.
const MAX_SHORT_LENGTH = 1000;

// A parsed document, including its locations and tokens, takes 250 to 490 bytes per token.
const BYTES_PER_TOKEN = 500;
const MAX_CACHED = 1000;
const MAX_CACHED_BYTES = 50_000_000;

const MAX_WAITING = 500;

// Limits for the documents that are found by their hash with DOCUMENTS=automatic.
const MAX_HASHED = 10_000;
const MAX_HASHED_LENGTH = 10_000_000;

function bytesOf({ loc }: DocumentNode, text: string): number {
  let tokens = 0;
  for (let token = loc?.startToken; token; token = token.next ?? undefined) tokens += 1;
  return tokens * BYTES_PER_TOKEN + text.length;
}

function createSection(maxWaitMs: number) {
  return {
    cache: new LRUCache<string, DocumentNode>({
      max: MAX_CACHED,
      maxSize: MAX_CACHED_BYTES,
      sizeCalculation: bytesOf,
    }),
    queue: new FairQueue({ concurrency: 1, maxWaiting: MAX_WAITING, maxWaitMs, pause: 'rest' }),
  };
}

const createSections = (maxWaitMs: number) => ({
  short: createSection(maxWaitMs),
  long: createSection(maxWaitMs),
  textOf: new LRUCache<string, string>({
    max: MAX_HASHED,
    maxSize: MAX_HASHED_LENGTH,
    sizeCalculation: ({ length }) => length,
  }),
});

/**
 * Creates the document caches and queues. Callers without a token have separate caches and queues, so callers with a
 * token neither wait for them nor lose cached documents to them.
 */
export function createDocuments(
  {
    documents: mode,
    responseTimeoutMs,
    limits,
  }: Pick<Config, 'documents' | 'responseTimeoutMs' | 'limits'>,
  manifest?: Manifest,
) {
  const trusted = new Map(
    Array.from(manifest?.values() ?? [], ({ text, parsed }) => [text, parsed]),
  );
  const maxWaitMs = Math.min(limits.maxDocumentWaitMs, responseTimeoutMs);
  const strangers = createSections(maxWaitMs);
  const known = createSections(maxWaitMs);
  const sectionsOf = ({ subject }: Caller) => (subject === undefined ? strangers : known);
  const sectionOf = (text: string, caller: Caller) => {
    const { short, long } = sectionsOf(caller);
    return text.length > MAX_SHORT_LENGTH ? long : short;
  };
  return {
    /** Returns the valid document with this text, if it is in a cache that the caller uses. */
    find: (text: string, caller: Caller) =>
      trusted.get(text) ?? sectionOf(text, caller).cache.get(text),
    /** Returns the document texts by their hash. */
    textsFor: (caller: Caller) => sectionsOf(caller).textOf,
    /** Adds a document whose request was accepted. No others are added, so they do not evict this one. */
    add: (text: string, document: DocumentNode, caller: Caller): void => {
      sectionOf(text, caller).cache.set(text, document);
      if (mode === 'automatic') sectionsOf(caller).textOf.set(hashOf(text), text);
    },
    /** Returns the queue in which a new document waits for its slot. */
    queueOf: (text: string, caller: Caller) => sectionOf(text, caller).queue,
  };
}

/** The documents of accepted requests by their text, and the trusted documents, which are never evicted. */
export type Documents = ReturnType<typeof createDocuments>;

/**
 * Creates the function that finds the text of a request's document: the text in the request, or the text for the
 * request's document id. An id in the manifest takes precedence over a text in the request. With DOCUMENTS=automatic,
 * accepted documents are found by their hash.
 */
export function createFindText(
  documents: Documents,
  manifest: Manifest | undefined,
  mode: Config['documents'],
): (params: DocumentParams, caller: Caller) => string {
  const requireHash = (hash: string, text: string, caller: Caller): void => {
    const texts = documents.textsFor(caller);
    if (texts.get(hash) === text) return;
    if (hashOf(text) !== hash) {
      throw new GatewayError('BAD_REQUEST', 'The hash is not the SHA-256 of the document.');
    }
    if (documents.find(text, caller)) texts.set(hash, text);
  };

  const findById = (documentId: string, text: string | undefined, caller: Caller): string => {
    const id = withoutPrefix(documentId);
    const trusted = manifest?.get(id);
    if (trusted) return trusted.text;
    const isAutomatic = mode === 'automatic';
    if (text && id !== documentId) requireHash(id, text, caller);
    const found = text ?? (isAutomatic ? documents.textsFor(caller).get(id) : undefined);
    if (found) return found;
    // Clients recognize exactly these messages, and then send the text.
    throw manifest || isAutomatic
      ? new GatewayError('PERSISTED_QUERY_NOT_FOUND', 'PersistedQueryNotFound')
      : new GatewayError('PERSISTED_QUERY_NOT_SUPPORTED', 'PersistedQueryNotSupported');
  };

  return ({ documentId, query }, caller) => {
    const text = mode === 'trusted' ? undefined : query;
    const found = documentId ? findById(documentId, text, caller) : text;
    if (found) return found;
    throw mode === 'trusted'
      ? new GatewayError('PERSISTED_QUERY_ID_REQUIRED')
      : new GatewayError('BAD_REQUEST', 'The request has neither query nor documentId.');
  };
}

/**
 * Accepts a request whose document has this text, when it is its turn: `accept` gets the document if another request
 * has added it by then.
 */
export type InTurn = <Result>(
  text: string,
  request: Pick<RequestContext, 'caller' | 'req' | 'requestLog' | 'recipient' | 'arrivedAt'>,
  accept: (known?: DocumentNode) => Result,
) => Promise<Result>;

/**
 * Creates the function in which requests with new documents take turns, because parsing, validating and estimating the
 * costliest document within the limits takes as long as a hundred small queries. Only that is done within a slot; the
 * operation is executed after it.
 *
 * If a caller sends the same document again, that request waits for the slot of the first one instead of its own. In its
 * slot, a request looks for the document again, because another caller may have sent it meanwhile.
 */
export function createInTurn(documents: Documents): InTurn {
  // Promises that resolve when a slot ends, by caller and text.
  const slots = new Map<string, Promise<void>>();
  return async (text, { caller, req, requestLog, recipient, arrivedAt }, accept) => {
    const key = callerKeyOf(caller, req);
    const id = `${key} ${text}`;
    await slots.get(id);
    const known = documents.find(text, caller);
    if (known) return accept(known);
    const inSlot = documents.queueOf(text, caller).run(
      key,
      () => {
        addWait(requestLog, 'queueMs', arrivedAt);
        if (recipient.destroyed) throw new RecipientGone();
        return accept(documents.find(text, caller));
      },
      arrivedAt,
    );
    if (!slots.has(id)) {
      const end = (): void => void slots.delete(id);
      slots.set(id, inSlot.then(end, end));
    }
    return inSlot;
  };
}
