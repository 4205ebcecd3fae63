import { createHash } from 'node:crypto';
import { type FileHandle, open, realpath } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { TryLock } from 'fs-native-extensions';

import { ConfigError } from '../config/config.ts';
import { toError } from '../contract/errors.ts';

const IN_USE = 'DATA_DIR is in use by another gateway: stop that one, or choose another folder.';
// The longest path that release 1.0.0 used for its socket.
const MAX_SOCKET_BYTES = 100;

async function loadTryLock(): Promise<TryLock> {
  try {
    return (await import('fs-native-extensions')).default.tryLock;
  } catch (error) {
    const [reason] = toError(error).message.split('\n', 1);
    throw new ConfigError(
      `DATA_DIR can't be locked, as fs-native-extensions does not work on this system (${reason}): set DATABASE_URL.`,
    );
  }
}

/** Whether a gateway of release 1.0.0, which locked with a socket, uses the folder. */
async function isUsedByRelease100(folder: string): Promise<boolean> {
  let path = join(folder, 'lock');
  if (Buffer.byteLength(path) > MAX_SOCKET_BYTES) {
    const digest = createHash('sha256').update(await realpath(folder));
    path = join(tmpdir(), `pet-store-${digest.digest('hex').slice(0, 16)}.lock`);
  }
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

async function openLocked(folder: string): Promise<FileHandle> {
  const tryLock = await loadTryLock();
  const file = await open(join(folder, 'gateway.lock'), 'a');
  if (tryLock(file.fd) && !(await isUsedByRelease100(folder))) return file;
  await file.close();
  throw new ConfigError(IN_USE);
}

/**
 * Locks a folder for this process, until it ends or calls the returned function.
 *
 * The kernel holds the lock, on a file that is never deleted: it is taken atomically, lasts while the
 * process is suspended, and is released with the process, however that ends.
 * @throws ConfigError
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  try {
    const file = await openLocked(folder);
    return () => file.close();
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(`DATA_DIR can't be locked: ${toError(error).message}.`);
  }
}
