import { createHash } from 'node:crypto';
import { realpath, rm, stat } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { ConfigError } from '../config.ts';

const RACE_MS = 100;
// macOS allows 104, Linux 108, with the NUL at its end; what is longer would be cut off silently.
const MAX_PATH_BYTES = 100;
const IN_USE = 'DATA_DIR is in use by another gateway: stop that one, or choose another folder.';

function listen(path: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => void socket.destroy());
    server.once('error', reject).listen(path, () => resolve(server.unref()));
  });
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/** The socket of a folder: in it, unless that path is longer than a socket's may be. */
async function lockPath(folder: string): Promise<string> {
  const path = join(folder, 'lock');
  if (Buffer.byteLength(path) <= MAX_PATH_BYTES) return path;
  const digest = createHash('sha256')
    .update(await realpath(folder))
    .digest('hex');
  return join(tmpdir(), `pet-store-${digest.slice(0, 16)}.lock`);
}

const inodeOf = async (path: string): Promise<bigint> => (await stat(path, { bigint: true })).ino;

/** Takes the place of a process that died, unless another one does at the same moment. */
async function takeOver(path: string): Promise<Server> {
  if (await isAnswered(path)) throw new ConfigError(IN_USE);
  await rm(path, { force: true });
  const server = await listen(path).catch(() => {
    throw new ConfigError(IN_USE);
  });
  const inode = await inodeOf(path);
  await sleep(RACE_MS);
  if ((await inodeOf(path)) !== inode) throw new ConfigError(IN_USE);
  return server;
}

/**
 * Keeps a folder for this process alone, until it ends or lets go by the function returned.
 *
 * The lock is a socket: while its process lives the system answers there, even for one that is
 * busy or suspended, and after a kill -9 it no longer does. A file with a process id would have to
 * guess whether that id is by now somebody else's, or another container's.
 * @throws ConfigError
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  try {
    const path = await lockPath(folder);
    const server = await listen(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EADDRINUSE') throw error;
      return takeOver(path);
    });
    return () => new Promise((resolve) => void server.close(() => resolve()));
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigError(`DATA_DIR can't be locked: ${reason}.`);
  }
}
