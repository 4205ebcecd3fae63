import { Unavailable } from '../contract/errors.ts';

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

/** The error of a statement that was not run, or cancelled, because nobody needs its result any more. */
export class RecipientGone extends Unavailable {
  constructor() {
    super('The caller has gone.');
  }
}
