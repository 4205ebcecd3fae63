import { Unavailable } from '../contract/gateway-error.ts';
import type { RequestLog } from '../telemetry/request-log.ts';

/** The receiver of a statement's result, such as the client of a request. */
export interface Recipient {
  /**
   * Whether the recipient needs no result, for example because it already has one or its client disconnected. Undefined
   * if it needs the result in any case.
   */
  readonly destroyed?: boolean;
  /** The log of its request, to which the statement's waits are added. */
  readonly requestLog?: RequestLog | undefined;
}

/** Several recipients of one result: destroyed once all of them are. */
export class Recipients implements Recipient {
  #all: Recipient[] = [];

  add(recipient: Recipient): void {
    // A request may load many rows in one batch, but counts as one recipient.
    if (this.#all.at(-1) !== recipient) this.#all.push(recipient);
  }

  /** Removes all recipients, because they need nothing more. */
  clear(): void {
    this.#all = [];
  }

  get destroyed(): boolean {
    return this.#all.every(({ destroyed }) => destroyed);
  }

  /** A statement that several requests share counts for the first of them. */
  get requestLog(): RequestLog | undefined {
    return this.#all[0]?.requestLog;
  }
}

/** The error of a statement that was cancelled or never sent because all its recipients were gone. */
export class RecipientGone extends Unavailable {
  constructor() {
    super('No caller is waiting for the result any more.');
  }
}

/**
 * Creates a function that shares work with the same key within a tick. `start` starts the work for its first recipient.
 * Each tick has a new Map, because a Map that keeps changing would hold deleted work in memory.
 */
export function shareInTick<Work>(): (
  key: unknown,
  recipient: Recipient,
  start: (recipients: Recipient) => Work,
) => Work {
  let turn: Map<unknown, { recipients: Recipients; work: Work }> | undefined;
  const startTurn = (): NonNullable<typeof turn> => {
    setImmediate(() => {
      turn = undefined;
    });
    return new Map();
  };
  return (key, recipient, start) => {
    turn ??= startTurn();
    let shared = turn.get(key);
    if (!shared) {
      const recipients = new Recipients();
      shared = { recipients, work: start(recipients) };
      turn.set(key, shared);
    }
    shared.recipients.add(recipient);
    return shared.work;
  };
}
