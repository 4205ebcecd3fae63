import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';

import type { GraphQLParams, Plugin } from 'graphql-yoga';

import { StoreError } from '../errors.ts';

const MAX_BYTES = 1_000_000;
// Documents are kept, parsed, for the next time. Values belong into variables, which are not.
const MAX_DOCUMENT = 50_000;
// Five times what introspection takes, and few enough to be parsed and validated at once.
const MAX_TOKENS = 5000;
const JSON_TYPE = /^application\/json\s*(;|$)/i;

/** Reads a body of at most MAX_BYTES; the rest of a larger one is thrown away as it comes. */
function readBody(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= MAX_BYTES) {
        chunks.push(chunk);
      } else {
        chunks.length = 0;
        reject(
          new StoreError('PAYLOAD_TOO_LARGE', `The body can have at most ${MAX_BYTES} bytes.`),
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

/** The parameters of GraphQL over HTTP; others are ignored, as it asks. */
function pick({ query, variables, operationName, extensions }: GraphQLParams): GraphQLParams {
  if (typeof query !== 'string' || query === '') {
    throw new StoreError('BAD_REQUEST', 'query has to be a string with a GraphQL document.');
  }
  if (query.length > MAX_DOCUMENT) {
    throw new StoreError(
      'BAD_REQUEST',
      `The document can have at most ${MAX_DOCUMENT} characters; values can go into variables.`,
    );
  }
  if (operationName != null && typeof operationName !== 'string') {
    throw new StoreError('BAD_REQUEST', 'operationName has to be a string.');
  }
  return {
    query,
    ...(variables != null && { variables }),
    ...(operationName && { operationName }),
    ...(extensions != null && { extensions }),
  };
}

function fromBody(body: Buffer): GraphQLParams {
  if (!isUtf8(body)) throw new StoreError('BAD_REQUEST', 'The body is not UTF-8.');
  const json = parseJson(body.toString(), 'The body');
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw new StoreError('BAD_REQUEST', 'The body has to be one JSON object.');
  }
  return pick(json);
}

/**
 * Reads the parameters of a POST, which has to be application/json, so that no form of another site
 * can post here.
 * @throws StoreError
 */
export async function readPost(request: IncomingMessage): Promise<GraphQLParams> {
  if (!JSON_TYPE.test(request.headers['content-type'] ?? '')) {
    throw new StoreError('UNSUPPORTED_MEDIA_TYPE');
  }
  return fromBody(await readBody(request));
}

function fromUrl(url: string): GraphQLParams {
  const { searchParams } = new URL(url, 'http://localhost');
  const json = Object.entries(Object.fromEntries(searchParams)).map(([name, text]) =>
    name === 'variables' || name === 'extensions'
      ? [name, text === '' ? null : parseJson(text, name)]
      : [name, text === '' ? null : text],
  );
  return pick(Object.fromEntries(json));
}

/** Takes the place of Yoga's own parsers; its limit costs neither a stream nor a second Request. */
export function useParameters(): Plugin<object, { req: IncomingMessage }> {
  return {
    onParse: ({ parseFn, setParseFn }) => {
      setParseFn((source, options) => parseFn(source, { ...options, maxTokens: MAX_TOKENS }));
    },
    onRequestParse: ({ request, serverContext: { req }, setRequestParser }) => {
      if (request.method === 'GET') setRequestParser(() => fromUrl(req.url ?? '/'));
      if (request.method === 'POST') setRequestParser(() => readPost(req));
    },
  };
}
