// How many counts one request may have to wait for: about a millisecond.
const MAX_WAITING = 500;

let waiting: (() => void)[] = [];

/** Counts everything that waits to be counted. To be called before metrics are read. */
export function countAll(): void {
  const all = waiting;
  waiting = [];
  for (const count of all) count();
}

/**
 * Calls `count` when metrics are read, or before. prom-client 15 makes a text of the labels for each count: in the course of
 * a request, this takes four times as long as for many counts in a row.
 */
export function countLater(count: () => void): void {
  if (waiting.push(count) >= MAX_WAITING) countAll();
}
