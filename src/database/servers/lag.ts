import type { Position } from './position.ts';

/** A position that the primary had reached at a time, in milliseconds. */
interface Sample {
  readonly at: number;
  readonly position: Position;
}

/** How far replicas are behind the primary. */
export interface Lag {
  /** Adds a position of the primary. */
  readonly add: (position: Position) => void;
  /**
   * Returns how long ago, as of its last position, the primary was where a replica is now: at most the
   * time between two samples too little. Without a primary it does not grow.
   */
  readonly of: (position: Position) => number;
}

/**
 * Creates a record of the primary's positions for `keptMs`. So lag needs no clock of another machine,
 * and a replica that receives nothing more falls behind, however little it still has to replay.
 */
export function createLag(keptMs: number): Lag {
  let samples: Sample[] = [];
  let lastAt = 0;
  return {
    add: (position) => {
      lastAt = performance.now();
      const last = samples.at(-1);
      // A promoted replica may not have all that the former primary had.
      if (last && position < last.position) samples = [];
      if (position !== samples.at(-1)?.position) samples.push({ at: lastAt, position });
      // One older sample stays, so that a replica which is behind all of them has a lag above keptMs.
      while ((samples[1]?.at ?? Infinity) < lastAt - keptMs) samples.shift();
    },
    of: (position) => {
      const next = samples.find((sample) => sample.position > position);
      return next ? lastAt - next.at : 0;
    },
  };
}
