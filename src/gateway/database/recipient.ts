import { Unavailable } from '../contract/gateway-error.ts';
import type { RequestLog } from '../telemetry/request-log.ts';
import { FairQueue } from './fair-queue.ts';

// How many statements for lists and counts one request may run at a time, to leave connections for other requests.
const MAX_LISTS = 4;

/** The receiver of a statement's result, such as the client of a request. */
export interface Recipient {
  /**
   * Whether the recipient needs no result, for example because it already has one or its client disconnected. Undefined
   * if it needs the result in any case.
   */
  readonly destroyed?: boolean;
  /** The log of its request, to which the statement's waits are added. */
  readonly requestLog?: RequestLog | undefined;
  /** Identifies its caller. Where statements wait, callers take turns. */
  readonly callerKey?: string;
  /** Who makes the changes that the statement writes, as JSON (who.ts); undefined unless it is a mutation's. */
  readonly who?: string | undefined;
  /** The queue of its statements for lists and counts; created by the first of them. */
  lists?: FairQueue | undefined;
}

/** The recipient of a request's writes, and of rows that other requests may share: needs them even if the client is gone. */
export class DetachedRecipient implements Recipient {
  readonly requestLog: RequestLog | undefined;
  readonly who: string | undefined;
  readonly #recipient: Recipient;

  constructor(recipient: Recipient, who?: string) {
    this.requestLog = recipient.requestLog;
    this.who = who;
    this.#recipient = recipient;
  }

  get callerKey(): string {
    return this.#recipient.callerKey ?? '';
  }
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

  get callerKey(): string {
    return this.#all[0]?.callerKey ?? '';
  }

  get lists(): FairQueue {
    const [first = {}] = this.#all;
    return (first.lists ??= new FairQueue({ concurrency: MAX_LISTS }));
  }
}

/** The error of a statement that was cancelled or never sent because all its recipients were gone. */
export class RecipientGone extends Unavailable {
  constructor() {
    super('No caller is waiting for the result any more.');
  }
}
