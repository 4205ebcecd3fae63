import type { MetricValue, Registry } from 'prom-client';

type Labels = MetricValue<string>['labels'];

/** The sum of the values with one value of a label, which has the name of the label. */
export interface Count {
  readonly [label: string]: string | number;
  readonly total: number;
}

/** The present values of metrics. */
export type Figures = Awaited<ReturnType<typeof readFigures>>;

export async function readFigures(registry: Registry) {
  const metrics = await registry.getMetricsAsJSON();
  const valuesOf = (name: string): readonly MetricValue<string>[] =>
    metrics.find((metric) => metric.name === name)?.values ?? [];
  return {
    /** Adds up all values of a metric; 0 if it has none. */
    sum: (metric: string) => valuesOf(metric).reduce((total, { value }) => total + value, 0),
    /** Adds up the values of a metric by one of its labels. */
    sumBy: (
      metric: string,
      label: string,
      isCounted: (labels: Labels) => boolean = () => true,
    ): Count[] => {
      const totals = new Map<string, number>();
      for (const { labels, value } of valuesOf(metric)) {
        const key = labels[label];
        // The sum and the count of a histogram have no bound.
        if (key === undefined || !isCounted(labels)) continue;
        totals.set(String(key), (totals.get(String(key)) ?? 0) + value);
      }
      return Array.from(totals, ([key, total]) => ({ [label]: key, total }));
    },
  };
}
