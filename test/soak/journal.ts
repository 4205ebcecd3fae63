const GRACE_MS = 3000;
const MAX_SHOWN = 30;
// The gateway writes its log a moment after the response.
const LOG_MS = 300;

/** An active fault. */
export interface Disturbance {
  readonly name: string;
  /** Whether honest requests may fail while it is active. */
  readonly disturbs: boolean;
}

/** Records what happened during the soak: faults, responses and violations. */
export class Journal {
  readonly begin = Date.now();
  readonly injected = new Map<string, number>();
  readonly violations: string[] = [];
  answered = 0;
  retried = 0;
  /** How long honest requests took while no fault was active, and beside bad neighbours, in milliseconds. */
  readonly latencies = { calm: [] as number[], besideNeighbours: [] as number[] };
  maxRecoveryMs = 0;
  /** Returns the last lines of the gateway's log. */
  readTail: () => string = () => '';

  readonly #active = new Set<Disturbance>();
  #lastFault = -Infinity;
  #lastDisturbance = -Infinity;

  print(text: string): void {
    const seconds = ((Date.now() - this.begin) / 1000).toFixed(1).padStart(7);
    process.stdout.write(`${seconds} s  ${text}\n`);
  }

  start(fault: Disturbance): void {
    this.#active.add(fault);
    this.injected.set(fault.name, (this.injected.get(fault.name) ?? 0) + 1);
  }

  /** Records that the faults have ended and the gateway is ready again. */
  stop(faults: readonly Disturbance[]): void {
    for (const fault of faults) {
      this.#active.delete(fault);
      this.#lastFault = performance.now();
      if (fault.disturbs) this.#lastDisturbance = performance.now();
    }
  }

  /** Whether nothing has disturbed honest callers since a time of performance.now(). */
  isQuietSince(from: number): boolean {
    const disturbed = [...this.#active].some(({ disturbs }) => disturbs);
    return !disturbed && from - this.#lastDisturbance > GRACE_MS;
  }

  addAnswer(from: number): void {
    this.answered += 1;
    if (!this.isQuietSince(from)) return;
    const isCalm = this.#active.size === 0 && from - this.#lastFault > GRACE_MS;
    this.latencies[isCalm ? 'calm' : 'besideNeighbours'].push(performance.now() - from);
  }

  /** Records an honest request without a response, which is a violation unless a fault was active. */
  addFailure(from: number, what: string): void {
    this.retried += 1;
    if (!this.isQuietSince(from)) return;
    const ms = Math.round(performance.now() - from);
    this.violate(`An honest request failed outside of faults, after ${ms} ms: ${what}`);
  }

  /** Records a violation and prints it with the last lines of the gateway's log. */
  violate(text: string): void {
    this.violations.push(text);
    if (this.violations.length > MAX_SHOWN) return;
    const active = [...this.#active].map(({ name }) => name).join(', ') || 'none';
    this.print(`VIOLATION: ${text}\n  faults going on: ${active}`);
    setTimeout(() => this.print(`The log at that violation:\n${this.readTail()}`), LOG_MS);
  }
}
