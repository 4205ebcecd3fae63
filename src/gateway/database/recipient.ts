import { Unavailable } from '../contract/gateway-error.ts';

/** Who receives what a statement reads, such as a response to a caller. */
export interface Recipient {
  /** Whether it needs the result no more: it has another one, or its caller has gone. */
  readonly destroyed: boolean;
}

/** The recipients of one result. */
export class Recipients implements Recipient {
  readonly #all: Recipient[] = [];

  add(recipient: Recipient): void {
    // A request may load many rows of a batch.
    if (this.#all.at(-1) !== recipient) this.#all.push(recipient);
  }

  get destroyed(): boolean {
    return this.#all.every(({ destroyed }) => destroyed);
  }
}

/** The error of a statement that was not run, or ended, because nobody needs its result any more. */
export class RecipientGone extends Unavailable {
  constructor() {
    super('The client disconnected.');
  }
}

/**
 * Creates a function that returns the work of this tick with a key; `start` begins it for its
 * first recipient. Each turn has its own Map: one that is always changing would keep deleted work in memory.
 */
export function shareInTurn<Work>(): (
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
