import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';

import type { GraphQLParams, Plugin } from 'graphql-yoga';

import type { Limits } from '../config/config.ts';
import { StoreError } from '../contract/errors.ts';
import { documentIdOf, type DocumentParams } from './plugins/use-persisted-documents.ts';

const JSON_TYPE = /^application\/json\s*(;|$)/i;

/** Reads a body; the rest of one that is too large is thrown away as it comes. */
function readBody(request: IncomingMessage, { maxBodyBytes }: Limits): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBodyBytes) {
        chunks.push(chunk);
      } else {
        chunks.length = 0;
        reject(
          new StoreError('PAYLOAD_TOO_LARGE', `The body can have at most ${maxBodyBytes} bytes.`),
        );
      }
    });
    request.on('end', () => resolve(Buffer.concat(chunks)));
    request.on('error', () => reject(new StoreError('BAD_REQUEST', 'The body was cut off.')));
  });
}

function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new StoreError('BAD_REQUEST', `${what} is not JSON.`);
  }
}

/** The parameters of GraphQL over HTTP and the document's id; others are ignored, as it asks. */
function pick(given: GraphQLParams, { maxDocumentLength }: Limits): DocumentParams {
  const { query, variables, operationName, extensions } = given;
  if (query != null && typeof query !== 'string') {
    throw new StoreError('BAD_REQUEST', 'query has to be a string with a GraphQL document.');
  }
  // Documents are kept, parsed, for the next time. Values belong into variables, which are not.
  if (query && query.length > maxDocumentLength) {
    throw new StoreError(
      'DOCUMENT_TOO_LARGE',
      `The document can have at most ${maxDocumentLength} characters; values can go into variables.`,
    );
  }
  if (operationName != null && typeof operationName !== 'string') {
    throw new StoreError('BAD_REQUEST', 'operationName has to be a string.');
  }
  const documentId = documentIdOf(given);
  return {
    ...(query && { query }),
    ...(documentId && { documentId }),
    ...(variables != null && { variables }),
    ...(operationName && { operationName }),
    ...(extensions != null && { extensions }),
  };
}

function fromBody(body: Buffer, limits: Limits): DocumentParams {
  if (!isUtf8(body)) throw new StoreError('BAD_REQUEST', 'The body is not UTF-8.');
  const json = parseJson(body.toString(), 'The body');
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw new StoreError('BAD_REQUEST', 'The body has to be one JSON object.');
  }
  return pick(json, limits);
}

/** A body was compressed. */
class UnsupportedEncoding extends StoreError {
  constructor() {
    super('UNSUPPORTED_MEDIA_TYPE', 'The body has to be sent as it is, without Content-Encoding.');
  }

  /** Which encodings would do (RFC 9110 §15.5.16). */
  override get headers(): Readonly<Record<string, string>> {
    return { 'Accept-Encoding': 'identity' };
  }
}

/**
 * Reads the parameters of a POST, which has to be application/json, so that no form of another site
 * can post here.
 * @throws StoreError
 */
export async function readPost(request: IncomingMessage, limits: Limits): Promise<DocumentParams> {
  const { 'content-type': type = '', 'content-encoding': encoding = '' } = request.headers;
  if (!JSON_TYPE.test(type)) throw new StoreError('UNSUPPORTED_MEDIA_TYPE');
  if (!/^(identity)?$/i.test(encoding.trim())) throw new UnsupportedEncoding();
  return fromBody(await readBody(request, limits), limits);
}

const PREFLIGHTED = 'apollo-require-preflight';

/**
 * Refuses what a page of another site makes a browser ask, which takes no preflight: the page would
 * not see the answer, but could make visitors run costly queries (https://www.w3.org/TR/fetch-metadata/).
 */
function refuseOtherSites({ headers }: IncomingMessage): void {
  const { 'sec-fetch-site': site = 'none', [PREFLIGHTED]: preflighted } = headers;
  if (site === 'none' || site === 'same-origin' || preflighted) return;
  throw new StoreError(
    'FORBIDDEN',
    'A GET of a page of another site needs the header Apollo-Require-Preflight, with any value.',
  );
}

function readGet(request: IncomingMessage, limits: Limits): DocumentParams {
  refuseOtherSites(request);
  const { searchParams } = new URL(request.url ?? '/', 'http://localhost');
  const json = Object.entries(Object.fromEntries(searchParams)).map(([name, text]) =>
    name === 'variables' || name === 'extensions'
      ? [name, text === '' ? null : parseJson(text, name)]
      : [name, text === '' ? null : text],
  );
  return pick(Object.fromEntries(json), limits);
}

/** Takes the place of Yoga's own parsers; its limit costs neither a stream nor a second Request. */
export function useParameters(limits: Limits): Plugin<object, { req: IncomingMessage }> {
  return {
    onRequestParse: ({ request, serverContext: { req }, setRequestParser }) => {
      if (request.method === 'GET') setRequestParser(() => readGet(req, limits));
      if (request.method === 'POST') setRequestParser(() => readPost(req, limits));
    },
  };
}
