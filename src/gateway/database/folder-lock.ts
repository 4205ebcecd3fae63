import { open } from 'node:fs/promises';
import { join } from 'node:path';

import { ConfigError } from '../config/config.ts';
import { toError } from '../contract/gateway-error.ts';

const IN_USE =
  'DATA_DIR is in use by another gateway. Stop that gateway, or choose another folder.';

/**
 * Locks a folder for this process, until the process exits or calls the returned function.
 *
 * The kernel holds the lock, on a file that is never deleted. So acquiring the lock is atomic, a suspended process
 * keeps it, and it is released when the process exits, even in a crash.
 * @throws ConfigError
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  try {
    const { tryLock } = (await import('fs-native-extensions')).default;
    const file = await open(join(folder, 'gateway.lock'), 'a');
    if (tryLock(file.fd)) return () => file.close();
    await file.close();
  } catch (error) {
    // If the native module does not work on this system, the error has many lines.
    const [reason] = toError(error).message.split('\n', 1);
    throw new ConfigError(
      `DATA_DIR can't be locked: ${reason}. Choose another folder, or set DATABASE_URL.`,
    );
  }
  throw new ConfigError(IN_USE);
}
