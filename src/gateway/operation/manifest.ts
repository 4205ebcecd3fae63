import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

import { type DocumentNode, Kind, parse, type GraphQLSchema } from 'graphql';
import { z } from 'zod';

import { ConfigError } from '../config/config.ts';
import { toError } from '../contract/gateway-error.ts';
import { type Bounds, validateDocument } from './accept/validation.ts';

interface TrustedDocument {
  readonly text: string;
  readonly parsed: DocumentNode;
}

/** The trusted documents by id, without the prefix `sha256:`. */
export type Manifest = ReadonlyMap<string, TrustedDocument>;

export const operationNamesOf = (manifest: Manifest = new Map()): string[] =>
  [...manifest.values()].flatMap(({ parsed }) =>
    parsed.definitions.flatMap((definition) =>
      definition.kind === Kind.OPERATION_DEFINITION && definition.name ? definition.name.value : [],
    ),
  );

/** The prefix of an id that is the SHA-256 of the document (GraphQL over HTTP, appendix A). */
export const HASH_PREFIX = 'sha256:';

/** Returns the SHA-256 of a document in the form that clients and manifests use. */
export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Returns an id without the prefix `sha256:`, which clients and manifests may omit. */
export const withoutPrefix = (id: string): string =>
  id.startsWith(HASH_PREFIX) ? id.slice(HASH_PREFIX.length) : id;

// The first format is written by Apollo's generator, the second by Relay's compiler and GraphQL Code Generator.
const Texts = z.union([
  z
    .object({
      format: z.literal('apollo-persisted-query-manifest'),
      version: z.literal(1),
      operations: z.array(z.object({ id: z.string(), body: z.string() })),
    })
    .transform(({ operations }) => operations.map(({ id, body }): [string, string] => [id, body])),
  z.record(z.string(), z.string()).transform((texts) => Object.entries(texts)),
]);

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new ConfigError(`DOCUMENTS_MANIFEST can't be read: ${toError(error).message}.`);
  }
}

/**
 * Reads and validates the trusted documents. Callers can't make the gateway validate them again, so of the limits on
 * documents, only the length applies.
 * @throws ConfigError if the file is not a manifest, or if two documents have the same id or one can't be executed
 */
export function readManifest(file: string, schema: GraphQLSchema, bounds: Bounds): Manifest {
  const { data: texts } = Texts.safeParse(readJson(file));
  if (!texts) {
    throw new ConfigError(
      `DOCUMENTS_MANIFEST must be a JSON object that maps ids to documents, or an Apollo manifest: ${file} is neither.`,
    );
  }
  const manifest = new Map<string, TrustedDocument>();
  for (const [id, text] of texts) {
    const key = withoutPrefix(id);
    if (manifest.has(key)) {
      throw new ConfigError(`DOCUMENTS_MANIFEST contains two documents with the id ${key}.`);
    }
    try {
      const parsed = parse(text, { maxSourceLength: bounds.limits.maxDocumentLength });
      const [error] = validateDocument(bounds, schema, parsed);
      if (error) throw error;
      manifest.set(key, { text, parsed });
    } catch (error) {
      throw new ConfigError(
        `The document ${id} in DOCUMENTS_MANIFEST cannot be executed: ${toError(error).message}`,
      );
    }
  }
  return manifest;
}
