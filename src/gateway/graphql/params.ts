import type { IncomingHttpHeaders } from 'node:http';

import type { GraphQLParams } from 'graphql-yoga';

import type { Config, Limits } from '../config/config.ts';
import { GatewayError } from '../contract/gateway-error.ts';
import { isFromAllowedOrigin } from '../http/request.ts';
import { HASH_PREFIX } from './manifest.ts';

const OTHER_CHARSET = /;\s*charset="?(?!utf-?8\b)/i;

const [QUOTE, BACKSLASH, COMMA, BRACKET, BRACE] = Buffer.from('"\\,[{');

// Ignores a byte order mark, as RFC 8259 §8.1 allows.
const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** The parameters of a request, with the document's id in a uniform form. */
export interface DocumentParams extends GraphQLParams {
  /** Starts with `sha256:` if the client sent it with this prefix, or as a hash in `extensions`. */
  readonly documentId?: string;
}

type Mutable<Type> = { -readonly [Key in keyof Type]: Type[Key] };

/**
 * The fields that can hold an id: `documentId` in GraphQL over HTTP, a hash in `extensions` for Apollo and urql, and
 * `doc_id` or `id` for Relay.
 */
interface ParamsWithId extends GraphQLParams {
  readonly documentId?: unknown;
  readonly doc_id?: unknown;
  readonly id?: unknown;
}

const isNonEmptyString = (value: unknown): value is string =>
  typeof value === 'string' && value !== '';

/** Returns the id of the requested document; undefined if it is missing, empty or not a string. */
function documentIdOf({ documentId, extensions, doc_id, id }: ParamsWithId): string | undefined {
  const hash: unknown = extensions?.['persistedQuery']?.sha256Hash;
  return [documentId, isNonEmptyString(hash) ? HASH_PREFIX + hash : undefined, doc_id, id].find(
    isNonEmptyString,
  );
}

/** Counts the commas and opening brackets outside strings, of which each value except the first needs one. */
function countValues(json: Buffer): number {
  let values = 0;
  let isInString = false;
  for (let index = 0; index < json.length; index += 1) {
    const byte = json[index];
    if (byte === QUOTE) isInString = !isInString;
    else if (isInString && byte === BACKSLASH) index += 1;
    else if (!isInString && (byte === COMMA || byte === BRACKET || byte === BRACE)) values += 1;
  }
  return values;
}

/**
 * Parses JSON from a client; `name` begins the messages of errors.
 * @throws GatewayError with BAD_REQUEST, or with PAYLOAD_TOO_LARGE if the JSON has too many values
 */
export function parseJson(json: Buffer, name: string, { maxJsonValues: max }: Limits): unknown {
  if (json.length > max && countValues(json) > max) {
    throw new GatewayError('PAYLOAD_TOO_LARGE', `${name} must have at most ${max} values.`);
  }
  try {
    return JSON.parse(UTF8.decode(json));
  } catch {
    throw new GatewayError('BAD_REQUEST', `${name} is not JSON in UTF-8.`);
  }
}

function requireObject(name: string, value: unknown): void {
  if (value != null && (typeof value !== 'object' || Array.isArray(value))) {
    throw new GatewayError('BAD_REQUEST', `${name} must be a JSON object.`);
  }
}

/**
 * Returns the parameters of GraphQL over HTTP and the document's id; other parameters are ignored.
 * @throws GatewayError
 */
export function toDocumentParams(
  params: GraphQLParams,
  { maxDocumentLength }: Limits,
): DocumentParams {
  const { query, variables, operationName, extensions } = params;
  if (query != null && typeof query !== 'string') {
    throw new GatewayError(
      'BAD_REQUEST',
      'query must be a string that contains a GraphQL document.',
    );
  }
  // Documents have a separate limit, because parsed documents are cached and variables are not.
  if (query && query.length > maxDocumentLength) {
    throw new GatewayError(
      'DOCUMENT_TOO_LARGE',
      `The document must be at most ${maxDocumentLength} characters long; use variables for long values.`,
    );
  }
  if (operationName != null && typeof operationName !== 'string') {
    throw new GatewayError('BAD_REQUEST', 'operationName must be a string.');
  }
  requireObject('variables', variables);
  requireObject('extensions', extensions);
  const documentId = documentIdOf(params);
  // The properties are assigned one by one, because V8 takes ten times as long to spread them.
  const found: Mutable<DocumentParams> = {};
  if (query) found.query = query;
  if (documentId) found.documentId = documentId;
  if (variables != null) found.variables = variables;
  if (operationName) found.operationName = operationName;
  if (extensions != null) found.extensions = extensions;
  return found;
}

/**
 * Parses the body of a POST. It may have the label of another charset, because most bodies are ASCII, which is also
 * UTF-8.
 * @throws GatewayError
 */
export function parseBody(
  body: Buffer,
  { 'content-type': type = '' }: IncomingHttpHeaders,
  limits: Limits,
): unknown {
  try {
    return parseJson(body, 'The body', limits);
  } catch (error) {
    throw OTHER_CHARSET.test(type) ? new GatewayError('UNSUPPORTED_MEDIA_TYPE') : error;
  }
}

/** Returns the parameters in the parsed body of a POST. @throws GatewayError */
export function paramsInBody(body: unknown, limits: Limits): DocumentParams {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new GatewayError('BAD_REQUEST', 'The body must be a JSON object.');
  }
  return toDocumentParams(body, limits);
}

const PREFLIGHTED = 'apollo-require-preflight';

/**
 * Rejects a GET that a page from another origin sends without a preflight request. The page could not read the response,
 * but could make its visitors' browsers send costly queries (https://www.w3.org/TR/fetch-metadata/). Pages from an
 * allowed origin could send such queries by POST anyway.
 * @throws GatewayError
 */
export function rejectOtherOrigins(
  headers: IncomingHttpHeaders,
  config: Pick<Config, 'corsOrigins'>,
): void {
  const { 'sec-fetch-site': site = 'none', [PREFLIGHTED]: preflighted } = headers;
  if (site === 'none' || site === 'same-origin' || preflighted) return;
  if (isFromAllowedOrigin(headers, config)) return;
  throw new GatewayError(
    'FORBIDDEN',
    'A cross-origin GET requires an Origin from CORS_ORIGINS, or the header ' +
      'Apollo-Require-Preflight with any value.',
  );
}

/** Returns the parameters in the query string of a GET, of which a repeated one counts the last time. @throws GatewayError */
export function paramsInQuery(query: object, limits: Limits): DocumentParams {
  const params = Object.entries(query).map(([name, values]) => {
    const text = String([values].flat().at(-1));
    const isJson = name === 'variables' || name === 'extensions';
    if (text === '') return [name, null];
    return [name, isJson ? parseJson(Buffer.from(text), name, limits) : text];
  });
  return toDocumentParams(Object.fromEntries(params), limits);
}
