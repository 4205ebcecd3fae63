import { readdirSync, readFileSync } from 'node:fs';

import type { GatewayProcess } from './gateway-process.ts';
import type { Journal } from './journal.ts';

const EVERY_MS = 1000;
const MAX_RSS_KB = 700_000;
const MAX_MORE_HANDLES = 64;
// A worker that starts during an outage of the database may end and be replaced.
const STARTING_MS = 15_000;

/** Watches the memory, open files and deaths of the gateway's processes, if the system has /proc. */
export class Watch {
  maxRssMb = 0;
  maxHandles = 0;
  readonly #gateway: GatewayProcess;
  readonly #journal: Journal;
  readonly #timer: NodeJS.Timeout;
  #isLooking = false;
  #primary = 0;
  /** The time at which each worker was first seen. */
  readonly #workers = new Map<number, number>();
  #handlesAtFirst = 0;
  readonly #tooLarge = new Set<number>();

  constructor(gateway: GatewayProcess, journal: Journal) {
    this.#gateway = gateway;
    this.#journal = journal;
    this.#timer = setInterval(() => void this.#look(), EVERY_MS);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Compares the number of open files, while no fault is active, with the first one. */
  async checkHandles(): Promise<void> {
    const counts = (await this.#gateway.pids()).map(countHandles);
    const handles = Math.max(0, ...counts);
    this.#handlesAtFirst ||= handles;
    this.maxHandles = Math.max(this.maxHandles, handles);
    if (handles > this.#handlesAtFirst + MAX_MORE_HANDLES) {
      const text = `${handles} files are open in a process; ${this.#handlesAtFirst} were at first`;
      this.#journal.violate(`${text}.`);
    }
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const [primary = 0, ...workers] = await this.#gateway.pids();
    for (const pid of [primary, ...workers]) this.#checkMemory(pid);
    // It may have ended since its workers were listed.
    const isSame = primary === this.#primary && primary === this.#gateway.pid;
    if (isSame && !this.#gateway.isStopping) this.#checkDeaths(workers);
    else this.#workers.clear();
    this.#primary = primary;
    for (const pid of workers) {
      if (!this.#workers.has(pid)) this.#workers.set(pid, performance.now());
    }
    this.#isLooking = false;
  }

  /** Finds workers that ended although the primary runs and the soak did not kill them. */
  #checkDeaths(workers: readonly number[]): void {
    for (const [pid, seen] of this.#workers) {
      if (workers.includes(pid)) continue;
      this.#workers.delete(pid);
      const mayFail = this.#gateway.mayEnd !== 'never' && performance.now() - seen < STARTING_MS;
      if (mayFail || this.#gateway.expectedDeaths.has(pid)) continue;
      this.#journal.violate(`Worker ${pid} ended by itself.`);
    }
  }

  #checkMemory(pid: number): void {
    const kb = peakRssKb(pid);
    this.maxRssMb = Math.max(this.maxRssMb, Math.round(kb / 1024));
    if (kb <= MAX_RSS_KB || this.#tooLarge.has(pid)) return;
    this.#tooLarge.add(pid);
    this.#journal.violate(`Process ${pid} takes ${Math.round(kb / 1024)} MB.`);
  }
}

/** Returns the peak memory of a process; 0 if it has ended, or if the system has no /proc. */
const peakRssKb = (pid: number): number =>
  look(() => {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0);
  });

const countHandles = (pid: number): number => look(() => readdirSync(`/proc/${pid}/fd`).length);

/** Returns 0 if the process ended before it could be read. */
function look(read: () => number): number {
  try {
    return read();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return 0;
    throw error;
  }
}
