import { setTimeout as sleep } from 'node:timers/promises';

import { ACTIONS, type Scene } from './actions.ts';
import { Client, GivenUp } from './client.ts';
import type { GatewayProcess } from './gateway-process.ts';
import type { Journal } from './journal.ts';
import type { Ledger } from './ledger.ts';
import { Random } from './random.ts';

export const CALLERS = 12;
const MAX_THOUGHT_MS = 80;
const MAX_DRAIN_MS = 90_000;

/** Honest callers, each with one request at a time. */
export class Load {
  readonly #journal: Journal;
  readonly #client: Client;
  readonly #callers: Promise<void>[];
  #over = false;
  #pause: Promise<void> | undefined;
  #resume = (): void => {};
  #busy = 0;

  constructor(gateway: GatewayProcess, ledger: Ledger, journal: Journal, seed: number) {
    this.#journal = journal;
    this.#client = new Client(gateway, journal);
    const counted = [...ledger.counted.keys()];
    this.#callers = counted.map((countedPetId, index) => {
      const random = new Random(seed * 1000 + index);
      const scene = { client: this.#client, ledger, journal, random, countedPetId, mine: [] };
      return this.#call(scene);
    });
  }

  /** Does something while no request of an honest caller is open. */
  async whilePaused(work: () => Promise<void>): Promise<void> {
    this.#pause = new Promise((resolve) => {
      this.#resume = resolve;
    });
    while (this.#busy > 0) await sleep(20);
    await work();
    this.#pause = undefined;
    this.#resume();
  }

  /** Waits until every caller has the response to its last request. */
  async close(): Promise<void> {
    this.#over = true;
    const timer = setTimeout(() => {
      this.#client.givesUp = true;
    }, MAX_DRAIN_MS);
    await Promise.all(this.#callers);
    clearTimeout(timer);
  }

  async #call(scene: Scene): Promise<void> {
    while (!this.#over) {
      await this.#pause;
      this.#busy += 1;
      try {
        await scene.random.pick(ACTIONS)(scene);
      } catch (error) {
        const what =
          error instanceof GivenUp ? 'An honest caller got no response' : 'A caller failed';
        this.#journal.violate(`${what}: ${error instanceof Error ? error.stack : String(error)}`);
      } finally {
        this.#busy -= 1;
      }
      await sleep(scene.random.whole(0, MAX_THOUGHT_MS));
    }
  }
}
