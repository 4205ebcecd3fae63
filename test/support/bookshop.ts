import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { MapperKind, mapSchema } from '@graphql-tools/utils';

import type { Store } from '../../src/gateway/index.ts';
import { openRaw } from './databases.ts';
import type { OpenDatabase } from './gateway.ts';

/** A text in a file of the bookshop, and the text that replaces it. */
export type Edit = readonly [file: string, text: string, replacement: string];

/** Copies the bookshop next to it, so that the paths in its imports stay the same. The caller removes the folder. */
export function copyBookshop(edits: readonly Edit[] = []): string {
  const copy = mkdtempSync('test/gateway/bookshop-');
  cpSync('test/gateway/bookshop', copy, { recursive: true });
  for (const [name, text, replacement] of edits) {
    const file = join(copy, name);
    const before = readFileSync(file, 'utf8');
    if (!before.includes(text)) throw new Error(`${name} does not contain ${text}`);
    writeFileSync(
      file,
      before.replace(text, () => replacement),
    );
  }
  return copy;
}

export async function importBookshop(copy: string): Promise<Store> {
  const { bookshop }: { bookshop: Store } = await import(resolve(copy, 'index.ts'));
  return bookshop;
}

/** Returns the function that opens a new database with the migrations of a store. */
export const openNew =
  ({ migrations }: Store): OpenDatabase =>
  async (...args) =>
    (await openRaw(migrations)).open(...args);

/** Returns a store in which the fields with this name have other extensions. */
export const withExtensions = (store: Store, name: string, extensions: object): Store => ({
  ...store,
  schema: mapSchema(store.schema, {
    [MapperKind.OBJECT_FIELD]: (field, own) =>
      own === name ? { ...field, extensions: { ...field.extensions, ...extensions } } : field,
  }),
});
