/** A position that the primary had reached at a time, in milliseconds. */
interface Sample {
  readonly at: number;
  readonly position: bigint;
}

/**
 * How far replicas are behind the primary, from the positions that it had for `keptMs`. So lag needs no clock of
 * another machine, and a replica that receives nothing more falls behind, however little it still has to replay.
 */
export class Lag {
  readonly #keptMs: number;
  #samples: Sample[] = [];
  #lastTimeline = 0;
  #lastAt = 0;

  constructor(keptMs: number) {
    this.#keptMs = keptMs;
  }

  /** Adds a position of the primary, on its timeline. */
  add(position: bigint, timeline: number): void {
    this.#lastAt = performance.now();
    // After a promotion, a replica must reach a position of the new timeline: it may have received the former
    // one only.
    if (timeline !== this.#lastTimeline) this.#samples = [];
    this.#lastTimeline = timeline;
    const samples = this.#samples;
    if (position !== samples.at(-1)?.position) samples.push({ at: this.#lastAt, position });
    // One older sample stays, so that a replica which is behind all of them has a lag above keptMs.
    while ((samples[1]?.at ?? Infinity) < this.#lastAt - this.#keptMs) samples.shift();
  }

  /**
   * Returns how long ago the primary was where a replica is now, in milliseconds. It counts until the last
   * known position of the primary, so it does not grow without a primary.
   */
  of(position: bigint): number {
    const next = this.#samples.find((sample) => sample.position > position);
    if (!next) return 0;
    const ms = this.#lastAt - next.at;
    // Nobody knows when the primary was before its first sample: it can be days ago.
    return next === this.#samples[0] ? Math.max(ms, this.#keptMs + 1) : ms;
  }
}
