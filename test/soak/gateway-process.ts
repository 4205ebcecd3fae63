import { setTimeout as sleep } from 'node:timers/promises';

import { freePort } from '../support/postgres.ts';
import { isReady, type Program, spawnProgram } from '../support/program.ts';
import type { Journal } from './journal.ts';

const RESTART_MS = 300;
const MAX_STOP_MS = 20_000;
const MAX_RECOVERY_MS = 30_000;
const SHOWN_MESSAGES = 8;

/** Runs the built gateway like a supervisor, which restarts the gateway whenever it exits. */
export class GatewayProcess {
  /** Whether the gateway may exit now with code 1. */
  mayEnd = false;
  readonly url: string;
  readonly #environment: Readonly<Record<string, string>>;
  readonly #journal: Journal;
  readonly #supervised: Promise<void>;
  #program: Program;
  /** How each program that was sent a signal must exit. */
  readonly #expected = new Map<Program, number | NodeJS.Signals>();
  #isOver = false;

  private constructor(environment: Record<string, string>, port: string, journal: Journal) {
    this.url = `http://127.0.0.1:${port}`;
    this.#environment = { ...environment, PORT: port, LOG_LEVEL: 'warn' };
    this.#journal = journal;
    this.#program = spawnProgram('main', this.#environment);
    this.#supervised = this.#supervise();
    journal.readLog = () => this.#program.messages.slice(-SHOWN_MESSAGES).join('\n');
  }

  static async start(environment: Record<string, string>, journal: Journal) {
    const gateway = new GatewayProcess(environment, String(await freePort()), journal);
    await gateway.recover();
    return gateway;
  }

  get pid(): number {
    return this.#program.process.pid ?? 0;
  }

  /** Stops the gateway with a signal; taking too long is a violation. The supervisor restarts the gateway. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const program = this.#program;
    this.#expected.set(program, signal === 'SIGTERM' ? 0 : signal);
    const stopped = program.stop(signal).then(() => true);
    if (await Promise.race([stopped, sleep(MAX_STOP_MS, false)])) return;
    this.#journal.violate(`The gateway did not exit within ${MAX_STOP_MS} ms of ${signal}.`);
    this.#expected.set(program, 'SIGKILL');
    await program.stop('SIGKILL');
  }

  async close(): Promise<void> {
    this.#isOver = true;
    await this.end('SIGTERM');
    await this.#supervised;
  }

  /** Waits until the gateway is ready; if that takes too long, it is a violation, and the gateway is killed. */
  async recover(): Promise<void> {
    let deadline = performance.now() + MAX_RECOVERY_MS;
    while (!(await isReady(this.url))) {
      if (performance.now() > deadline) {
        this.#journal.violate(
          `The gateway is not ready after ${MAX_RECOVERY_MS} ms: it is killed.`,
        );
        await this.end('SIGKILL');
        deadline = Infinity;
      }
      await sleep(50);
    }
  }

  async #supervise(): Promise<void> {
    for (;;) {
      const end = await this.#program.end;
      const expected = this.#expected.get(this.#program);
      if (end !== expected && expected !== 'SIGKILL' && !(this.mayEnd && end === 1)) {
        this.#journal.violate(
          `The gateway exited with ${end}; expected: ${expected ?? 'no exit'}.`,
        );
      }
      if (this.#isOver) return;
      await sleep(RESTART_MS);
      this.#program = spawnProgram('main', this.#environment);
    }
  }
}
