import { accessSync, constants, readFileSync, statfsSync } from 'node:fs';
import { freemem } from 'node:os';

// Linux keeps the files in this folder in memory.
const IN_MEMORY = '/dev/shm';
// In bytes. `npm test` needs 140 MB at a time.
const NEEDED = 2e9;

/** Whether the folder in memory is writable, has space, and allows running programs, as some tests do. */
function canUseMemory(): boolean {
  try {
    accessSync(IN_MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    const mounts = readFileSync('/proc/mounts', 'utf8');
    const hasRoom = Math.min(bavail * bsize, freemem()) > NEEDED;
    return hasRoom && !/^\S+ \/dev\/shm \S+ \S*\b(ro|noexec)\b/m.test(mounts);
  } catch {
    return false;
  }
}

/**
 * Keeps temporary files in memory if that is possible and TMPDIR is not set: each database is hundreds of files, and
 * writing them to a disk takes a twentieth of the CPU time of `npm test`.
 */
export function setup(): void {
  // oxlint-disable-next-line node/no-process-env -- a variable of the system, not of the gateway
  if (canUseMemory()) process.env['TMPDIR'] ??= IN_MEMORY;
}
