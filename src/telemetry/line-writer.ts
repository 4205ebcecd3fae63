import { writeSync } from 'node:fs';

import { toError } from '../contract/errors.ts';

// A pipe writes so much atomically (PIPE_BUF): only longer lines of several workers can mix.
const MAX_WRITE_BYTES = 4096;
// Lines that come soon after each other share a write.
const WRITE_DELAY_MS = 1;
// Bounds how long the event loop is blocked when many lines wait: less than a millisecond.
const MAX_WRITES_A_TURN = 64;
// Bounds the memory when the reader stops reading: further lines are dropped.
const MAX_WAITING_BYTES = 10_000_000;
// The pause before a failed write is retried; it doubles with each failure.
const MIN_RETRY_MS = 1;
const MAX_RETRY_MS = 250;
const FLUSH_TIMEOUT_MS = 2000;
const FLUSH_RETRY_MS = 10;

const NOTHING = Buffer.alloc(0);

/** Lines that are written together. */
interface Chunk {
  text: string;
  bytes: number;
}

function sleepSync(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/**
 * Writes lines to a file descriptor in the order in which it gets them, and never throws. Lines that
 * can't be written wait, up to 10 MB of them; further lines are dropped and counted. pino's own
 * destination (sonic-boom 4.2) ends the program when a write fails, and then retries at its exit for ever.
 *
 * Each write is synchronous: an asynchronous one may be in flight when the program ends, and then races
 * the last lines. A pipe, a socket or a terminal therefore must be non-blocking: its write fails with
 * EAGAIN instead of waiting for the reader. A file can block only on its disk.
 */
export class LineWriter {
  /** Called with the number of dropped lines once everything else is written. */
  onRecovery: (dropped: number) => void = () => {};
  readonly #fd: number;
  #chunks: Chunk[] = [];
  #waitingBytes = 0;
  /** The rest of the chunk that is being written. */
  #current = NOTHING;
  #isScheduled = false;
  #flushEnd: number | undefined;
  #retryMs = MIN_RETRY_MS;
  #dropped = 0;

  constructor(fd: number) {
    this.#fd = fd;
  }

  /** Adds a line, which ends with a line feed. */
  write(line: string): void {
    const bytes = Buffer.byteLength(line);
    if (this.#waitingBytes + bytes > MAX_WAITING_BYTES) {
      this.#dropped += 1;
      return;
    }
    this.#waitingBytes += bytes;
    const last = this.#chunks.at(-1);
    if (last && last.bytes + bytes <= MAX_WRITE_BYTES) {
      last.text += line;
      last.bytes += bytes;
    } else this.#chunks.push({ text: line, bytes });
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#schedule(WRITE_DELAY_MS);
  }

  /**
   * Writes all waiting lines before it returns, for the end of the program. All calls together take two
   * seconds at most. The callback gets an error if lines are left.
   */
  flush(done?: (error?: Error) => void): void {
    this.#flushEnd ??= performance.now() + FLUSH_TIMEOUT_MS;
    while (this.#load()) {
      const error = this.#writeCurrent();
      if (!error) continue;
      if (error.code !== 'EAGAIN' || performance.now() > this.#flushEnd) {
        done?.(error);
        return;
      }
      sleepSync(FLUSH_RETRY_MS);
    }
    done?.();
  }

  /** Takes the next chunk into #current if that is empty. Returns whether there is something to write. */
  #load(): boolean {
    if (this.#current.length > 0) return true;
    if (this.#chunks.length === 0) this.#reportDropped();
    const chunk = this.#chunks.shift();
    if (chunk) this.#current = Buffer.from(chunk.text);
    return chunk !== undefined;
  }

  #reportDropped(): void {
    const dropped = this.#dropped;
    if (dropped === 0) return;
    this.#dropped = 0;
    this.onRecovery(dropped);
  }

  /** Writes as much of #current as the file descriptor takes, or returns why it takes nothing. */
  #writeCurrent(): NodeJS.ErrnoException | undefined {
    try {
      const bytes = writeSync(this.#fd, this.#current);
      this.#current = this.#current.subarray(bytes);
      this.#waitingBytes -= bytes;
      return undefined;
    } catch (error) {
      return toError(error);
    }
  }

  #schedule(delayMs: number): void {
    // Unreferenced, so that a program with nothing else to do ends: its exit flushes.
    setTimeout(() => this.#writeSome(), delayMs).unref();
  }

  #writeSome(): void {
    for (let writes = 0; writes < MAX_WRITES_A_TURN; writes += 1) {
      this.#isScheduled = this.#load();
      if (!this.#isScheduled) return;
      if (this.#writeCurrent()) {
        this.#schedule(this.#retryMs);
        this.#retryMs = Math.min(2 * this.#retryMs, MAX_RETRY_MS);
        return;
      }
      this.#retryMs = MIN_RETRY_MS;
    }
    this.#schedule(WRITE_DELAY_MS);
  }
}
