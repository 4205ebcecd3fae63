import { prometheusContentType } from 'prom-client';

import type { Route } from '../http/route.ts';

/** Creates GET /metrics, for Prometheus. */
export const createMetricsRoute = (readMetrics: () => Promise<string>): Route => ({
  path: '/metrics',
  get: async () => ({
    status: 200,
    headers: { 'Content-Type': prometheusContentType, 'Cache-Control': 'no-store' },
    body: await readMetrics(),
  }),
});
