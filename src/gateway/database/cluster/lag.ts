/** A position that the primary had reached at a time, in milliseconds. */
interface Sample {
  readonly at: number;
  readonly position: bigint;
}

/**
 * Creates a record of the primary's positions for `keptMs`. So lag needs no clock of another machine,
 * and a replica that receives nothing more falls behind, however little it still has to replay.
 */
export function createLag(keptMs: number) {
  let samples: Sample[] = [];
  let lastTimeline = 0;
  let lastAt = 0;
  return {
    /** Adds a position of the primary, on its timeline. */
    add: (position: bigint, timeline: number): void => {
      lastAt = performance.now();
      // After a promotion, a replica must reach a position of the new timeline: it may have received the former
      // one only.
      if (timeline !== lastTimeline) samples = [];
      lastTimeline = timeline;
      if (position !== samples.at(-1)?.position) samples.push({ at: lastAt, position });
      // One older sample stays, so that a replica which is behind all of them has a lag above keptMs.
      while ((samples[1]?.at ?? Infinity) < lastAt - keptMs) samples.shift();
    },
    /**
     * Returns how long ago the primary was where a replica is now, in milliseconds. It counts until the last
     * known position of the primary, so it does not grow without a primary.
     */
    of: (position: bigint): number => {
      const [first] = samples;
      const next = samples.find((sample) => sample.position > position);
      if (!next) return 0;
      // Nobody knows when the primary was there: it can be days ago.
      if (next === first) return Math.max(lastAt - next.at, keptMs + 1);
      return lastAt - next.at;
    },
  };
}

/** How far replicas are behind the primary. */
export type Lag = ReturnType<typeof createLag>;
