import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

import { type DocumentNode, parse } from 'graphql';
import { z } from 'zod';

import { ConfigError } from '../config/config.ts';
import { type Bounds, validateWithin } from './plugins/use-limits.ts';
import { schema } from './schema.ts';

/** A document that operators trust, with what came out when it was checked. */
interface TrustedDocument {
  readonly text: string;
  readonly parsed: DocumentNode;
}

/** The trusted documents by their ids, without prefixes. */
export type Manifest = ReadonlyMap<string, TrustedDocument>;

/** What stands before an id that is the SHA-256 of the document (GraphQL over HTTP, appendix A). */
export const HASH_PREFIX = 'sha256:';

/** The SHA-256 of a document, as callers and manifests write it. */
export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** An id as the manifest has it, whether or not it was given as a hash. */
export const withoutPrefix = (id: string): string =>
  id.startsWith(HASH_PREFIX) ? id.slice(HASH_PREFIX.length) : id;

// As Relay's compiler and GraphQL Code Generator write it, or as Apollo's generator does.
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

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new ConfigError(`DOCUMENTS_MANIFEST can't be read: ${messageOf(error)}.`);
  }
}

/** Parses a document that has to run here: who asks for it can do nothing about it. */
function check(text: string, bounds: Bounds): DocumentNode {
  const { limits } = bounds;
  const parsed = parse(text, {
    maxSourceLength: limits.maxDocumentLength,
    maxLexicalTokens: limits.maxTokens,
  });
  const [error] = validateWithin(bounds, schema, parsed);
  if (error) throw error;
  return parsed;
}

/**
 * Reads the file of the trusted documents.
 * @throws ConfigError if there is none, or one of its documents can't run here.
 */
export function readManifest(file: string, bounds: Bounds): Manifest {
  const { data: texts } = Texts.safeParse(readJson(file));
  if (!texts) {
    throw new ConfigError(
      `DOCUMENTS_MANIFEST has to be a JSON object of documents by their ids, or Apollo's manifest: ${file} is neither.`,
    );
  }
  return new Map(
    texts.map(([id, text]) => {
      try {
        return [withoutPrefix(id), { text, parsed: check(text, bounds) }];
      } catch (error) {
        throw new ConfigError(
          `DOCUMENTS_MANIFEST has a document that can't run here, ${id}: ${messageOf(error)}`,
        );
      }
    }),
  );
}

/** Documents that are parsed, by their text. */
interface ParsedDocuments {
  get(text: string): DocumentNode | undefined;
  set(text: string, parsed: DocumentNode): unknown;
}

/** Adds the trusted documents to a cache, which other documents can't push out of it. */
export function withTrusted(
  manifest: Manifest | undefined,
  others: ParsedDocuments,
): ParsedDocuments {
  if (!manifest) return others;
  const trusted = new Map(Array.from(manifest.values(), ({ text, parsed }) => [text, parsed]));
  return {
    get: (text) => trusted.get(text) ?? others.get(text),
    set: (text, parsed) => others.set(text, parsed),
  };
}
