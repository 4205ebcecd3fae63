import { type Recipient, Recipients } from './recipient.ts';

/** Returns the work of this turn of the event loop with a key; `start` begins it for its first recipient. */
type Share<Work> = (
  key: string,
  recipient: Recipient,
  start: (recipients: Recipient) => Work,
) => Work;

/**
 * Creates a function that shares work within a turn of the event loop. Each turn has its own Map: one that
 * is always changing would keep deleted work in memory.
 */
export function shareInTurn<Work>(): Share<Work> {
  let turn: Map<string, { recipients: Recipients; work: Work }> | undefined;
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
