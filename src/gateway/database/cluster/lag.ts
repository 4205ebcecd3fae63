/** A log position of the primary, and when the primary was first seen there, in milliseconds. */
interface Sample {
  readonly at: number;
  readonly position: bigint;
}

/**
 * Measures how far replicas are behind the primary, from the primary's positions in the last `keptMs`. The lag does not
 * depend on other machines' clocks. While the primary writes, the lag of a replica that receives no log grows, even if
 * it has replayed everything that it received.
 */
export class Lag {
  readonly #keptMs: number;
  #samples: Sample[] = [];
  #lastTimeline = 0;
  #lastAt = 0;

  constructor(keptMs: number) {
    this.#keptMs = keptMs;
  }

  /** Adds a position of the primary, and the timeline that the primary was on. */
  add(position: bigint, timeline: number): void {
    this.#lastAt = performance.now();
    // After a promotion, a replica must reach a position on the new timeline, because it may have received only the old
    // timeline.
    if (timeline !== this.#lastTimeline) this.#samples = [];
    this.#lastTimeline = timeline;
    const samples = this.#samples;
    if (position !== samples.at(-1)?.position) samples.push({ at: this.#lastAt, position });
    // Keeps one older sample, so that a replica behind all samples has a lag above keptMs.
    while ((samples[1]?.at ?? Infinity) < this.#lastAt - this.#keptMs) samples.shift();
  }

  /**
   * Returns how long ago the primary passed a replica's position, in milliseconds; 0 if it has not. The time is
   * measured up to the last reading of the primary's position, so it does not grow while there is no primary.
   */
  of(position: bigint): number {
    const next = this.#samples.find((sample) => sample.position > position);
    if (!next) return 0;
    const ms = this.#lastAt - next.at;
    // Nothing is known before the first sample: the primary may have passed the position days ago.
    return next === this.#samples[0] ? Math.max(ms, this.#keptMs + 1) : ms;
  }
}
