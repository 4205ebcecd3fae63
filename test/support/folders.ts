import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, onTestFinished } from 'vitest';

function createFolder(onEnd: (remove: () => void) => void): string {
  const folder = mkdtempSync(join(tmpdir(), 'store-'));
  onEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export const useFolder = (): string => createFolder(afterAll);

export const makeFolder = (): string => createFolder(onTestFinished);
