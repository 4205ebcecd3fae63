import type { DocumentNode } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';

import { type Caller, callerKeyOf } from '../../auth/scopes.ts';
import type { Config } from '../../config/config.ts';
import type { CallContext, Exchange } from '../../context.ts';
import { GatewayError } from '../../contract/gateway-error.ts';
import { RecipientGone } from '../../database/recipient.ts';
import { operationOf } from '../analysis/operation.ts';
import { parseWithin, validateWithin } from '../analysis/validation.ts';
import type { Step } from '../execution/call.ts';
import { createFairQueue } from '../fair-queue.ts';
import { hashOf, type Manifest, withoutPrefix } from '../manifest.ts';
import type { DocumentParams } from '../params.ts';

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

// The texts that are found by their hash, in mode `automatic`.
const MAX_HASHED = 10_000;
const MAX_HASHED_LENGTH = 10_000_000;

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
 * Creates the caches and queues of documents. Callers without a token have their own, so that nobody
 * with a token waits for a stranger, or loses a cached document to one.
 */
export function createDocuments(
  { documents: mode, responseTimeoutMs }: Pick<Config, 'documents' | 'responseTimeoutMs'>,
  manifest?: Manifest,
) {
  const trusted = new Map(
    Array.from(manifest?.values() ?? [], ({ text, parsed }) => [text, parsed]),
  );
  const valid = new WeakSet<DocumentNode>(trusted.values());
  const maxWaitMs = Math.min(MAX_WAIT_MS, responseTimeoutMs);
  const strangers = createSections(maxWaitMs);
  const known = createSections(maxWaitMs);
  const sectionsOf = ({ subject }: Caller) => (subject === undefined ? strangers : known);
  const sectionOf = (text: string, caller: Caller) => {
    const { short, long } = sectionsOf(caller);
    return text.length > MAX_SHORT_LENGTH ? long : short;
  };
  return {
    /** Returns the valid document of this text, if the caller shares a cache that has it. */
    find: (text: string, caller: Caller) =>
      trusted.get(text) ?? sectionOf(text, caller).cache.get(text),
    /** The texts of documents by their hash. */
    textsFor: (caller: Caller) => sectionsOf(caller).textOf,
    /** Whether a document was found, or was added: then it is valid. */
    has: (document: DocumentNode) => valid.has(document),
    /** Adds a valid document whose operation is executed: one that is rejected evicts no other. */
    add: (document: DocumentNode, caller: Caller): void => {
      const text = document.loc?.source.body;
      if (text === undefined || valid.has(document)) return;
      valid.add(document);
      sectionOf(text, caller).cache.set(text, document);
      if (mode === 'automatic') sectionsOf(caller).textOf.set(hashOf(text), text);
    },
    /** Returns the queue in which a new document waits for its turn. */
    queueOf: (text: string, caller: Caller) => sectionOf(text, caller).enqueue,
  };
}

/** The documents of executed operations by their text, and the trusted ones, which are never evicted. */
export type Documents = ReturnType<typeof createDocuments>;

/** Caches the document of an operation that is not rejected. */
export const cacheDocument =
  (documents: Documents): Step =>
  (next) =>
  (call) => {
    const result = next(call);
    // A rejection is immediate and has no data. Other requests wait for the document, but not for the store.
    const isExecuted = result instanceof Promise || 'data' in result;
    if (isExecuted) documents.add(call.operation.document, call.context.caller);
    return result;
  };

/**
 * Creates the function that finds the text of a document by its id, or takes that of the request. An id of the
 * manifest has precedence over a text. In mode `automatic`, documents that were executed are found by their hash.
 */
function createFindText(
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
    // Clients recognise exactly these messages, and then send the text.
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

const ignore = (): void => {};

/**
 * Finds the document of a request, and parses and validates it within its limits or takes it from the cache. A
 * request for a document that is not cached runs in a turn of its caller, until its operation waits for the store:
 * parsing, validating and estimating the worst document within the limits takes as long as a hundred small queries.
 */
export function useDocuments(
  documents: Documents,
  manifest: Manifest | undefined,
  config: Config,
): Plugin<CallContext & Exchange, CallContext & Exchange> {
  const findText = createFindText(documents, manifest, config.documents);
  // The ends of turns, by the caller and the text: other requests for the same document wait for the first.
  const turns = new Map<string, Promise<void>>();
  return {
    onParams: ({ params, setParams, context, paramsHandler: run, setParamsHandler }) => {
      const { caller, req, recipient, arrivedAt } = context;
      const { documentId, ...others }: DocumentParams = params;
      const text = findText(params, caller);
      if (documentId) setParams({ ...others, query: text });
      if (documents.find(text, caller)) return;
      const key = callerKeyOf(caller, req);
      const id = `${key} ${text}`;
      setParamsHandler(async (request) => {
        await turns.get(id);
        if (documents.find(text, caller)) return run(request);
        const turn = documents.queueOf(text, caller)(
          key,
          () => {
            if (recipient.destroyed) throw new RecipientGone();
            // In an object, as the turn ends before the operation does.
            return { result: run(request) };
          },
          arrivedAt,
        );
        const end = turn.then(ignore, ignore);
        if (!turns.has(id))
          turns.set(
            id,
            end.finally(() => turns.delete(id)),
          );
        return (await turn).result;
      });
    },
    onParse: ({ params: { source }, context: { caller }, setParsedDocument, setParseFn }) => {
      const document = documents.find(String(source), caller);
      if (document) setParsedDocument(document);
      else setParseFn((text) => parseWithin(config.limits, text));
      // Also the operation of a request that is rejected.
      return ({ context: { requestLog, params }, result }) => {
        if (result === null || result instanceof Error) return;
        const operation = operationOf(result, params.operationName);
        if (!operation) return;
        requestLog.operationType = operation.node.operation;
        if (operation.name !== undefined) requestLog.operationName = operation.name;
      };
    },
    onValidate: ({ params: { documentAST }, setResult, setValidationFn }) => {
      if (documents.has(documentAST)) setResult([]);
      else setValidationFn((schema, document) => validateWithin(config, schema, document));
    },
  };
}
