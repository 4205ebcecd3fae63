import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

import type { FastifyInstance, FastifyRequest } from 'fastify';

import type { Config, Limits } from '../../config/config.ts';
import { GatewayError } from '../../contract/gateway-error.ts';
import { isObject, type JsonObject } from '../../operation/json-text.ts';
import { HASH_PREFIX } from '../../operation/manifest.ts';
import { type DocumentParams, ERROR_BEHAVIORS } from '../../operation/request.ts';
import { JSON_TYPE } from './media-types.ts';
import { isFromAllowedOrigin } from './request.ts';

// Ignores a byte order mark, as RFC 8259 §8.1 allows.
const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** @throws GatewayError with BAD_REQUEST, whose message begins with `name` */
export function parseJson(json: Buffer, name: string): unknown {
  try {
    return JSON.parse(UTF8.decode(json));
  } catch {
    throw new GatewayError('BAD_REQUEST', `${name} is not JSON in UTF-8.`);
  }
}

/**
 * Reads a body of at most `maxBytes` into one buffer. A list of its chunks, such as Fastify's own parsers keep, would take
 * 400 bytes for each chunk, and a client can send chunks of one byte.
 * @throws GatewayError with PAYLOAD_TOO_LARGE, or BAD_REQUEST if the connection is lost
 */
const readBody = (body: IncomingMessage, maxBytes: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0);
    let length = 0;
    const add = (chunk: Buffer): void => {
      const start = length;
      length += chunk.length;
      if (length > maxBytes) {
        // The rest is read, too: a proxy that could not send it would report an error of its own.
        bytes = Buffer.alloc(0);
      } else if (length > bytes.length) {
        bytes = Buffer.concat([bytes.subarray(0, start), chunk], Math.min(2 * length, maxBytes));
      } else {
        chunk.copy(bytes, start);
      }
    };
    const end = (): void => {
      if (length > maxBytes) reject(new GatewayError('PAYLOAD_TOO_LARGE'));
      else resolve(bytes.subarray(0, length));
    };
    const fail = (): void => reject(new GatewayError('BAD_REQUEST', 'The body is incomplete.'));
    body.on('data', add).once('end', end).once('error', fail);
  });

/** Lets the routes of a plugin read JSON, and no other bodies. Forms on other sites can't send this type. */
export function parseJsonBodies(app: FastifyInstance, maxBytes: number): void {
  app.addContentTypeParser(JSON_TYPE, async (_request: FastifyRequest, body: IncomingMessage) =>
    parseJson(await readBody(body, maxBytes), 'The body'),
  );
}

const isNonEmptyString = (value: unknown): value is string =>
  typeof value === 'string' && value !== '';

/** Returns the id of the document: `documentId`, a hash in `extensions` of Apollo and urql, or `doc_id` or `id` of Relay. */
function documentIdOf(
  { documentId, doc_id, id }: JsonObject,
  extensions: JsonObject | undefined,
): string | undefined {
  const { sha256Hash: hash }: { sha256Hash?: unknown } = Object(extensions?.['persistedQuery']);
  const ofHash = isNonEmptyString(hash) ? HASH_PREFIX + hash : undefined;
  return [documentId, ofHash, doc_id, id].find(isNonEmptyString);
}

function stringIn(params: JsonObject, name: string): string | undefined {
  const value = params[name] ?? undefined;
  if (value === undefined || typeof value === 'string') return value;
  throw new GatewayError('BAD_REQUEST', `${name} must be a string.`);
}

function objectIn(params: JsonObject, name: string): JsonObject | undefined {
  const value = params[name] ?? undefined;
  if (value === undefined || isObject(value)) return value;
  throw new GatewayError('BAD_REQUEST', `${name} must be a JSON object.`);
}

/** Returns the `onError` of a request; undefined if it has none. @throws GatewayError if it is not one of the three */
export function onErrorIn({ onError }: JsonObject): DocumentParams['onError'] {
  const known = ERROR_BEHAVIORS.find((one) => one === onError);
  if (known || onError == null) return known;
  throw new GatewayError('BAD_REQUEST', 'onError must be PROPAGATE, NULL or HALT, or omitted.');
}

/** Returns the parameters of GraphQL over HTTP and the document's id; ignores others. @throws GatewayError */
export function toDocumentParams(params: unknown, { maxDocumentLength }: Limits): DocumentParams {
  if (!isObject(params)) throw new GatewayError('BAD_REQUEST', 'The body must be a JSON object.');
  const query = stringIn(params, 'query');
  // Documents have a separate limit, because parsed documents are cached and variables are not.
  if (query && query.length > maxDocumentLength) {
    throw new GatewayError(
      'DOCUMENT_TOO_LARGE',
      `The document must be at most ${maxDocumentLength} characters long; use variables for long values.`,
    );
  }
  const extensions = objectIn(params, 'extensions');
  return {
    query,
    documentId: documentIdOf(params, extensions),
    variables: objectIn(params, 'variables'),
    operationName: stringIn(params, 'operationName') || undefined,
    extensions,
    onError: onErrorIn(params),
  };
}

/**
 * Rejects a GET that a page from another origin sends without a preflight request. The page could not read the response,
 * but could make its visitors' browsers send costly queries (https://www.w3.org/TR/fetch-metadata/).
 * @throws GatewayError
 */
export function rejectOtherOrigins(
  headers: IncomingHttpHeaders,
  config: Pick<Config, 'corsOrigins'>,
): void {
  const { 'sec-fetch-site': site = 'none', 'apollo-require-preflight': preflighted } = headers;
  if (site === 'none' || site === 'same-origin' || preflighted) return;
  if (isFromAllowedOrigin(headers, config)) return;
  throw new GatewayError(
    'FORBIDDEN',
    'A cross-origin GET requires an Origin from CORS_ORIGINS, or the header ' +
      'Apollo-Require-Preflight with any value.',
  );
}

/** Returns the parameters in the query string of a GET. @throws GatewayError */
export function paramsInQuery(query: JsonObject, limits: Limits): DocumentParams {
  const parse = (name: string): unknown => {
    const text = query[name] || undefined;
    return typeof text === 'string' ? parseJson(Buffer.from(text), name) : text;
  };
  const parsed = { variables: parse('variables'), extensions: parse('extensions') };
  return toDocumentParams({ ...query, ...parsed }, limits);
}
