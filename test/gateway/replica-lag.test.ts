import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { Lag } from '../../src/gateway/database/cluster/lag.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const KEPT_MS = 5000;

/** Creates a `Lag`, and adds a position of the primary every half second. */
function createFilled(...positions: bigint[]): Lag {
  const lag = new Lag(KEPT_MS);
  for (const position of positions) {
    vi.advanceTimersByTime(500);
    lag.add(position, 1);
  }
  return lag;
}

it("a replica at the primary's position has no lag, however old the position is", () => {
  const lag = createFilled(100n, ...Array.from({ length: 100 }, () => 200n));
  expect(lag.of(200n)).toBe(0);
  expect(lag.of(300n)).toBe(0);
});

it("a replica's lag is the time since the primary passed the replica's position", () => {
  const lag = createFilled(100n, 200n, 300n, 400n);
  expect([lag.of(300n), lag.of(299n), lag.of(250n), lag.of(100n)]).toEqual([0, 500, 500, 1000]);
});

it("a replica's lag grows while the replica is behind, even if little is left to replay", () => {
  const lag = createFilled(100n, 101n, ...Array.from({ length: 20 }, () => 101n));
  expect(lag.of(100n)).toBe(20 * 500);
});

it('a replica that is behind all remembered positions exceeds the maximum lag', () => {
  const positions = Array.from({ length: 100 }, (_, index) => BigInt(index + 1));
  const lag = createFilled(...positions);
  expect(lag.of(0n)).toBeGreaterThan(KEPT_MS);
  expect(lag.of(1n)).toBeGreaterThan(KEPT_MS);
  expect(lag.of(90n)).toBe(9 * 500);
});

it("a replica's lag does not grow while there is no primary", () => {
  const lag = createFilled(100n, 200n, 300n);
  vi.advanceTimersByTime(600_000);
  expect(lag.of(100n)).toBe(500);
});

it("after a promotion, a replica exceeds the maximum lag until it reaches the new primary's first known position", () => {
  const lag = createFilled(100n, 200n, 300n);
  lag.add(250n, 2);
  expect([lag.of(250n), lag.of(300n)]).toEqual([0, 0]);
  expect(lag.of(249n)).toBeGreaterThan(KEPT_MS);
});

it('a replica that is behind the first known position exceeds the maximum lag until it reaches that position', () => {
  expect(new Lag(KEPT_MS).of(0n)).toBe(0);
  const lag = createFilled(100n);
  expect(lag.of(99n)).toBeGreaterThan(KEPT_MS);
  expect(lag.of(100n)).toBe(0);
});
