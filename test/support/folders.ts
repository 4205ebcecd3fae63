import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, onTestFinished } from 'vitest';

function createFolder(onEnd: (remove: () => void) => void): string {
  const folder = mkdtempSync(join(tmpdir(), 'store-'));
  onEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Creates a folder for the tests of a file or a describe(). */
export const useFolder = (): string => createFolder(afterAll);

/** Creates a folder for one test. */
export const makeFolder = (): string => createFolder(onTestFinished);
