import { Histogram, type HistogramConfiguration } from 'prom-client';

type Configuration = HistogramConfiguration<string> & { readonly buckets: number[] };

type Labels = Readonly<Record<string, string | number>>;

/** The values with the same labels. */
interface Series {
  readonly labels: Labels;
  /** The number of values up to each bound and above the one before; the last is of those above all. */
  readonly counts: number[];
  sum: number;
}

/**
 * A histogram without a look-up for each value: prom-client's own takes a microsecond to find the series by its labels.
 * Values are observed by the functions of createSeries alone.
 */
export class SeriesHistogram extends Histogram {
  readonly #configuration: Configuration;
  #series: Series[] = [];

  constructor(configuration: Configuration) {
    super(configuration);
    this.#configuration = configuration;
  }

  /** Adds a series, at zero, and returns the function that observes its values. Each has its own labels. */
  createSeries(labels: Labels): (value: number) => void {
    const { buckets: bounds } = this.#configuration;
    const counts = Array.from<number>({ length: bounds.length + 1 }).fill(0);
    const series: Series = { labels, counts, sum: 0 };
    this.#series.push(series);
    return (value) => {
      let index = 0;
      while (value > (bounds[index] ?? Infinity)) index += 1;
      counts[index] = (counts[index] ?? 0) + 1;
      series.sum += value;
    };
  }

  /** Removes each series that has this value of a label. Its function must not be called again. */
  removeSeries(label: string, value: string): void {
    this.#series = this.#series.filter(({ labels }) => labels[label] !== value);
  }

  /** Called by prom-client 15 for all formats; without `collect`, which these histograms do not have. */
  async getForPromString(): Promise<object> {
    const { name, help } = this.#configuration;
    const values = this.#series.flatMap((series) => this.#valuesOf(series));
    return { name, help, type: 'histogram', values, aggregator: 'sum' };
  }

  /** Returns the samples of a series, with the labels that all of them share apart. */
  #valuesOf({ labels: sharedLabels, counts, sum }: Series): object[] {
    const { name, buckets: bounds } = this.#configuration;
    let upTo = 0;
    const buckets = counts.map((count, index) => {
      upTo += count;
      const le = bounds[index] ?? '+Inf';
      return { metricName: `${name}_bucket`, labels: { le }, sharedLabels, value: upTo };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels: {}, sharedLabels, value: sum },
      { metricName: `${name}_count`, labels: {}, sharedLabels, value: upTo },
    ];
  }
}

/** Returns a function that keeps what `create` returns for each key, in `known`. */
export function keepByKey<Value>(
  create: (key: string) => Value,
  known = new Map<string, Value>(),
): (key: string) => Value {
  return (key) => {
    const found = known.get(key);
    if (found !== undefined) return found;
    const value = create(key);
    known.set(key, value);
    return value;
  };
}
