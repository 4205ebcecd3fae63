import type { Caller } from '../auth/caller.ts';
import type { Limits } from '../config/config.ts';
import { GatewayError, Unavailable } from '../contract/gateway-error.ts';

/** The maximum cost of one subscription result. Most apps need at most 300. */
export const MAX_RESULT_COST = 5000;
// The cost per result that is available to each stream if a caller, or the process, has its maximum number of streams.
const COST_OF_STREAM = 500;

/** A count of open streams, and the sum of their costs per result. */
const NOTHING = { streams: 0, cost: 0 };

/** Returns the budget for a number of streams. It always admits one stream, whatever its results cost. */
const budgetFor = (streams: number): number => Math.max(MAX_RESULT_COST, streams * COST_OF_STREAM);

const tooCostly = (cost: number, budget: number): GatewayError =>
  new GatewayError(
    'TOO_MANY_STREAMS',
    `Your subscriptions would cost ${cost} per change in total; the limit is ${budget}. ` +
      'Close some of them, or select fewer fields.',
  );

/**
 * Creates the function that charges a stream to its caller and to the process. The function returns a function that
 * releases the charge, or throws GatewayError with TOO_MANY_STREAMS or SERVICE_UNAVAILABLE.
 */
export function createStreamBudget({ maxStreams, maxStreamsPerCaller }: Limits) {
  const useOf = new Map<string, typeof NOTHING>();
  let total = NOTHING;
  const budget = budgetFor(maxStreams);
  const budgetOfSubject = budgetFor(maxStreamsPerCaller);
  // Behind a proxy, all callers without a token share one address, so an address gets half of the process's budget.
  const budgetOfAddress = budgetFor(maxStreams / 2);

  const add = (callerKey: string, streams: 1 | -1, cost: number): void => {
    const { streams: before, cost: costBefore } = useOf.get(callerKey) ?? NOTHING;
    const use = { streams: before + streams, cost: costBefore + cost };
    if (use.streams > 0) useOf.set(callerKey, use);
    else useOf.delete(callerKey);
    total = { streams: total.streams + streams, cost: total.cost + cost };
  };
  return ({ subject }: Caller, callerKey: string, cost: number): (() => void) => {
    if (total.streams >= maxStreams || total.cost + cost > budget) {
      throw new Unavailable('The gateway has too many subscriptions.');
    }
    const own = useOf.get(callerKey) ?? NOTHING;
    if (subject !== undefined && own.streams >= maxStreamsPerCaller) {
      throw new GatewayError('TOO_MANY_STREAMS');
    }
    const ownBudget = subject === undefined ? budgetOfAddress : budgetOfSubject;
    if (own.cost + cost > ownBudget) throw tooCostly(own.cost + cost, ownBudget);
    add(callerKey, 1, cost);
    return () => add(callerKey, -1, -cost);
  };
}
