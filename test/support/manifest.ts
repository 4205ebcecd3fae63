import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The id of a document, which clients can compute. */
export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** A manifest as Relay's compiler and GraphQL Code Generator write it. */
export const toManifest = (...texts: string[]): Record<string, string> =>
  Object.fromEntries(texts.map((text) => [hashOf(text), text]));

/** Calls `use` with the path of a manifest that exists only during the call. The gateway must start within `use`. */
export async function withManifest<Result>(
  content: unknown,
  use: (file: string) => Promise<Result> | Result,
): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'documents-'));
  const file = join(folder, 'trusted.json');
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  try {
    return await use(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
