import { write, writeSync } from 'node:fs';

// What a pipe takes as a whole (PIPE_BUF), so that the lines of several workers never mix.
const MAX_WRITE_BYTES = 4096;
// A reader that stands still may lose lines, but not take the memory.
const MAX_WAITING_BYTES = 10_000_000;
// The pause before a failed write is tried again; it doubles from one to the other.
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
 * Writes lines to a file descriptor while the program goes on, and never fails: lines that can't be
 * written wait, up to 10 MB of them, and the next ones are dropped and counted. pino's own destination
 * (sonic-boom 4.2) ends the program when a write fails, and then retries at its exit for ever.
 *
 * A pipe has to be non-blocking: a write that blocks keeps its thread, and the process, from ending.
 */
export class LineWriter {
  /** Called with the number of dropped lines once everything else is written. */
  onRecovery: (dropped: number) => void = () => {};
  readonly #fd: number;
  #chunks: Chunk[] = [];
  #waitingBytes = 0;
  /** What is left of the chunk that is being written. */
  #current = NOTHING;
  #isWriting = false;
  #isInFlight = false;
  /** When the flush gives up; nothing is written asynchronously any more. */
  #flushEnd: number | undefined;
  #retryMs = MIN_RETRY_MS;
  #dropped = 0;

  constructor(fd: number) {
    this.#fd = fd;
  }

  /** Takes a line with its line feed. */
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
    if (this.#isWriting) return;
    this.#isWriting = true;
    // Later, so that the lines of one turn of the event loop take one write.
    setImmediate(() => this.#writeNext());
  }

  /**
   * Writes all waiting lines before it returns, for the end of the program. All calls together take two
   * seconds at most. The callback gets an error if lines are left.
   */
  flush(done?: (error?: Error) => void): void {
    this.#flushEnd ??= performance.now() + FLUSH_TIMEOUT_MS;
    // It was handed to libuv, which ends its writes before the process ends: don't write it again.
    if (this.#isInFlight) this.#drop(this.#current.length);
    this.#isInFlight = false;
    while (this.#load()) {
      try {
        this.#drop(writeSync(this.#fd, this.#current));
      } catch (error) {
        const isBusy = error instanceof Error && 'code' in error && error.code === 'EAGAIN';
        if (!isBusy || performance.now() > this.#flushEnd) {
          done?.(error instanceof Error ? error : new Error(String(error)));
          return;
        }
        sleepSync(FLUSH_RETRY_MS);
      }
    }
    done?.();
  }

  /** Whether there is something to write, which is then in #current. */
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

  #drop(bytes: number): void {
    this.#current = this.#current.subarray(bytes);
    this.#waitingBytes -= bytes;
  }

  #writeNext(): void {
    if (this.#flushEnd !== undefined) return;
    this.#isWriting = this.#load();
    if (!this.#isWriting) return;
    this.#isInFlight = true;
    write(this.#fd, this.#current, (error, written) => {
      this.#isInFlight = false;
      if (this.#flushEnd !== undefined) return;
      if (error) {
        // Unreferenced, as a program that has nothing else to do ends: its exit tries once more.
        setTimeout(() => this.#writeNext(), this.#retryMs).unref();
        this.#retryMs = Math.min(2 * this.#retryMs, MAX_RETRY_MS);
        return;
      }
      this.#retryMs = MIN_RETRY_MS;
      this.#drop(written);
      this.#writeNext();
    });
  }
}
