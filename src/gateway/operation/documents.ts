import { type GraphQLSchema, Kind } from 'graphql';
import { LRUCache } from 'lru-cache';

import { type Caller, callerKeyOf } from '../auth/caller.ts';
import type { Config } from '../config/config.ts';
import { GatewayError } from '../contract/gateway-error.ts';
import { FairQueue } from '../database/fair-queue.ts';
import { RecipientGone } from '../database/recipient.ts';
import { addWait } from '../telemetry/request-log.ts';
import { hashOf, type Manifest, withoutPrefix } from './manifest.ts';
import { ParsedDocument } from './operation.ts';
import type { Call, DocumentParams } from './request.ts';

// Nearly all documents of real clients are shorter than this. Such documents do not wait for longer ones, even if all
// callers share a proxy's address.
const MAX_SHORT_LENGTH = 1000;

// A parsed document, including its locations and tokens, takes 250 to 490 bytes per token.
const BYTES_PER_TOKEN = 500;
// What an operation keeps for later executions (operation.ts, statement/compile.ts), which takes more if it is large.
const OPERATION_BYTES = 25_000;
const MAX_CACHED = 1000;
const MAX_CACHED_BYTES = 50_000_000;

const MAX_WAITING = 500;

// Limits for the documents that are found by their hash with DOCUMENTS=automatic.
const MAX_HASHED = 10_000;
const MAX_HASHED_LENGTH = 10_000_000;

function bytesOf({ node: { definitions, loc } }: ParsedDocument, text: string): number {
  let tokens = 0;
  for (let token = loc?.startToken; token; token = token.next ?? undefined) tokens += 1;
  const operations = definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION).length;
  return tokens * BYTES_PER_TOKEN + text.length + operations * OPERATION_BYTES;
}

/** The documents of callers with a token, or of those without. */
function createSection(maxWaitMs: number) {
  const queue = { concurrency: 1, maxWaiting: MAX_WAITING, maxWaitMs, pause: 'rest' } as const;
  return {
    documents: new LRUCache<string, ParsedDocument>({
      max: MAX_CACHED,
      maxSize: MAX_CACHED_BYTES,
      sizeCalculation: bytesOf,
    }),
    textOf: new LRUCache<string, string>({
      max: MAX_HASHED,
      maxSize: MAX_HASHED_LENGTH,
      sizeCalculation: ({ length }) => length,
    }),
    short: new FairQueue(queue),
    long: new FairQueue(queue),
  };
}

/**
 * The documents of accepted requests by their text, and the trusted documents, which are never evicted. Callers without a
 * token have a section of their own, so callers with a token neither wait for them nor lose cached documents to them.
 */
export class Documents {
  readonly #mode: Config['documents'];
  readonly #manifest: Manifest | undefined;
  readonly #trusted: ReadonlyMap<string, ParsedDocument>;
  readonly #withToken: ReturnType<typeof createSection>;
  readonly #withoutToken: ReturnType<typeof createSection>;
  /** Promises that resolve when the slot of a new document ends, by caller and text. */
  readonly #slots = new Map<string, Promise<void>>();

  constructor(
    config: Pick<Config, 'documents' | 'responseTimeoutMs' | 'limits'>,
    schema: GraphQLSchema,
    manifest?: Manifest,
  ) {
    this.#mode = config.documents;
    this.#manifest = manifest;
    const trusted = [...(manifest?.values() ?? [])];
    this.#trusted = new Map(
      trusted.map(({ text, parsed }) => [text, new ParsedDocument(schema, parsed)]),
    );
    const maxWaitMs = Math.min(config.limits.maxDocumentWaitMs, config.responseTimeoutMs);
    this.#withToken = createSection(maxWaitMs);
    this.#withoutToken = createSection(maxWaitMs);
  }

  #sectionOf({ subject }: Caller): ReturnType<typeof createSection> {
    return subject === undefined ? this.#withoutToken : this.#withToken;
  }

  /**
   * Returns the text of a request's document: that of its id in the manifest, or else that in the request or, with
   * DOCUMENTS=automatic, that of an accepted document with this hash.
   * @throws GatewayError
   */
  textOf({ documentId, query }: DocumentParams, caller: Caller): string {
    const isTrusted = this.#mode === 'trusted';
    const text = isTrusted ? undefined : query;
    const found = documentId ? this.#textById(documentId, text, caller) : text;
    if (found) return found;
    throw isTrusted
      ? new GatewayError('PERSISTED_QUERY_ID_REQUIRED')
      : new GatewayError('BAD_REQUEST', 'The request has neither query nor documentId.');
  }

  #textById(documentId: string, text: string | undefined, caller: Caller): string {
    const id = withoutPrefix(documentId);
    const trusted = this.#manifest?.get(id);
    if (trusted) return trusted.text;
    const isAutomatic = this.#mode === 'automatic';
    if (text && id !== documentId) this.#requireHash(id, text, caller);
    const found = text ?? (isAutomatic ? this.#sectionOf(caller).textOf.get(id) : undefined);
    if (found) return found;
    // Clients recognize exactly these messages, and then send the text.
    throw this.#manifest || isAutomatic
      ? new GatewayError('PERSISTED_QUERY_NOT_FOUND', 'PersistedQueryNotFound')
      : new GatewayError('PERSISTED_QUERY_NOT_SUPPORTED', 'PersistedQueryNotSupported');
  }

  #requireHash(hash: string, text: string, caller: Caller): void {
    const { textOf } = this.#sectionOf(caller);
    if (textOf.get(hash) === text) return;
    if (hashOf(text) !== hash) {
      throw new GatewayError('BAD_REQUEST', 'The hash is not the SHA-256 of the document.');
    }
    if (this.find(text, caller)) textOf.set(hash, text);
  }

  /** Returns the valid document with this text, if it is in a cache that the caller uses. */
  find(text: string, caller: Caller): ParsedDocument | undefined {
    return this.#trusted.get(text) ?? this.#sectionOf(caller).documents.get(text);
  }

  /** Adds a document whose request was accepted. No others are added, so they do not evict this one. */
  add(text: string, document: ParsedDocument, caller: Caller): void {
    const { documents, textOf } = this.#sectionOf(caller);
    documents.set(text, document);
    if (this.#mode === 'automatic') textOf.set(hashOf(text), text);
  }

  /**
   * Accepts a request with a new document when it is its turn, because that can take as long as a hundred small queries;
   * the operation is executed after it. `accept` gets the document if another request has added it by then. If a caller
   * sends the same document again, that request waits for the slot of the first one instead of its own.
   */
  async inTurn<Result>(
    text: string,
    request: Pick<Call, 'caller' | 'req' | 'requestLog' | 'recipient' | 'arrivedAt'>,
    accept: (known?: ParsedDocument) => Result,
  ): Promise<Result> {
    const { caller, req, requestLog, recipient, arrivedAt } = request;
    const key = callerKeyOf(caller, req);
    const id = `${key} ${text}`;
    await this.#slots.get(id);
    const known = this.find(text, caller);
    if (known) return accept(known);
    const { short, long } = this.#sectionOf(caller);
    const queue = text.length > MAX_SHORT_LENGTH ? long : short;
    const inSlot = queue.run(
      key,
      () => {
        addWait(requestLog, 'queueMs', arrivedAt);
        if (recipient.destroyed) throw new RecipientGone();
        return accept(this.find(text, caller));
      },
      arrivedAt,
    );
    if (!this.#slots.has(id)) {
      const end = (): void => void this.#slots.delete(id);
      this.#slots.set(id, inSlot.then(end, end));
    }
    return inSlot;
  }
}
