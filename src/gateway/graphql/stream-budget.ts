import type { Caller } from '../auth/caller.ts';
import type { Limits } from '../config/config.ts';
import { GatewayError, Unavailable } from '../contract/gateway-error.ts';

/** The maximum cost of one subscription result. Most apps need at most 300. */
export const MAX_RESULT_COST = 5000;
// The cost per result that is available to each stream if a caller, or the process, has its maximum number of streams.
const COST_OF_STREAM = 500;

/** An open stream. */
interface Charge {
  readonly release: () => void;
  /** Ends the stream, to make room for a stream of another caller. */
  readonly end: () => void;
}

/** The open streams of a caller, the newest last, and the sum of their costs per result. */
interface Use {
  readonly charges: Set<Charge>;
  cost: number;
}

/** Returns the budget for a number of streams. It always admits one stream, whatever its results cost. */
const budgetFor = (streams: number): number => Math.max(MAX_RESULT_COST, streams * COST_OF_STREAM);

const tooCostly = (cost: number, budget: number): GatewayError =>
  new GatewayError(
    'TOO_MANY_STREAMS',
    `Your subscriptions would cost ${cost} per change in total; the limit is ${budget}. ` +
      'Close some of them, or select fewer fields.',
  );

/**
 * Creates the function that charges a stream to its caller and to the process. If the process has no budget left, the
 * newest stream of the caller with the most ends, unless the new stream's caller would then have the most. The function
 * returns a function that releases the charge, or throws GatewayError with TOO_MANY_STREAMS or SERVICE_UNAVAILABLE.
 */
export function createStreamBudget({ maxStreams, maxStreamsPerCaller }: Limits) {
  const useOf = new Map<string, Use>();
  const total = { streams: 0, cost: 0 };
  const budget = budgetFor(maxStreams);
  const budgetOfSubject = budgetFor(maxStreamsPerCaller);
  // Behind a proxy, all callers without a token share one address, so an address gets half of the process's budget.
  const budgetOfAddress = budgetFor(maxStreams / 2);

  const makeRoom = (measure: (use: Use) => number, own: number): void => {
    let most: Use | undefined;
    for (const use of useOf.values()) {
      if (measure(use) > (most ? measure(most) : own)) most = use;
    }
    const newest = most && [...most.charges].at(-1);
    if (!newest) throw new Unavailable('The gateway has too many subscriptions.');
    newest.release();
    newest.end();
  };
  const add = (callerKey: string, use: Use, cost: number, end: () => void): (() => void) => {
    const release = (): void => {
      if (!use.charges.delete(charge)) return;
      use.cost -= cost;
      total.streams -= 1;
      total.cost -= cost;
      if (use.charges.size === 0) useOf.delete(callerKey);
    };
    const charge: Charge = { release, end };
    useOf.set(callerKey, use);
    use.charges.add(charge);
    use.cost += cost;
    total.streams += 1;
    total.cost += cost;
    return release;
  };
  return ({ subject }: Caller, callerKey: string, cost: number, end: () => void): (() => void) => {
    const own = useOf.get(callerKey) ?? { charges: new Set(), cost: 0 };
    const streams = own.charges.size + 1;
    if (subject !== undefined && streams > maxStreamsPerCaller) {
      throw new GatewayError('TOO_MANY_STREAMS');
    }
    const ownBudget = subject === undefined ? budgetOfAddress : budgetOfSubject;
    const ownCost = own.cost + cost;
    if (ownCost > ownBudget) throw tooCostly(ownCost, ownBudget);
    while (total.streams >= maxStreams) makeRoom(({ charges }) => charges.size, streams);
    while (total.cost + cost > budget) makeRoom((use) => use.cost, ownCost);
    return add(callerKey, own, cost, end);
  };
}
