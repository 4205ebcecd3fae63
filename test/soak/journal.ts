const GRACE_MS = 3000;
const MAX_SHOWN = 30;
// The gateway writes its log a moment after the response.
const LOG_MS = 300;

export class Journal {
  answered = 0;
  retried = 0;
  violations = 0;
  readLog: () => string = () => '';
  #faults = '';
  #lastFault = -Infinity;

  print(text: string): void {
    process.stdout.write(`${(performance.now() / 1000).toFixed(1).padStart(7)} s  ${text}\n`);
  }

  startFaults(names: readonly string[]): void {
    this.#faults = names.join(', ');
    this.print(this.#faults);
  }

  stopFaults(): void {
    this.#faults = '';
    this.#lastFault = performance.now();
  }

  /** Records that an honest caller's request failed, which is a violation unless a fault was active or had just ended. */
  addFailure(from: number, what: string): void {
    this.retried += 1;
    if (this.#faults !== '' || from - this.#lastFault <= GRACE_MS) return;
    const ms = Math.round(performance.now() - from);
    this.violate(
      `An honest caller's request failed while no fault was active, after ${ms} ms: ${what}`,
    );
  }

  /** Counts a violation; prints the first ones, with the last messages of the gateway's log. */
  violate(text: string): void {
    this.violations += 1;
    if (this.violations > MAX_SHOWN) return;
    this.print(`VIOLATION: ${text}\n  active faults: ${this.#faults || 'none'}`);
    setTimeout(
      () => this.print(`The log at the time of that violation:\n${this.readLog()}`),
      LOG_MS,
    );
  }
}
