import { existsSync, readdirSync, readFileSync } from 'node:fs';

import type { GatewayProcess } from './gateway-process.ts';
import type { Journal } from './journal.ts';

const MAX_MB = 700;
const MAX_MORE_FILES = 64;

/** Watches the memory and the open files of the gateway. */
export class Watch {
  maxMb = 0;
  #filesAtFirst = 0;

  /** Checks the limits while no fault is active. */
  check(gateway: GatewayProcess, journal: Journal): void {
    const { pid } = gateway;
    if (!existsSync(`/proc/${pid}`)) return;
    const mb = peakMb(pid);
    const files = readdirSync(`/proc/${pid}/fd`).length;
    this.maxMb = Math.max(this.maxMb, mb);
    this.#filesAtFirst ||= files;
    if (mb > MAX_MB) journal.violate(`A process takes ${mb} MB.`);
    if (files > this.#filesAtFirst + MAX_MORE_FILES) {
      journal.violate(`A process has ${files} files open; at first ${this.#filesAtFirst}.`);
    }
  }
}

function peakMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1]) / 1024);
}
