import { vi } from 'vitest';

/** What the /status page shows: figures from /metrics, and facts from the page itself. */
export interface Status {
  readonly version: string;
  readonly node: string;
  readonly startedAt: number;
  readonly at: number;
  readonly database: { readonly embedded: boolean; readonly state: string };
  readonly requests: {
    readonly total: number;
    readonly durations: readonly { readonly le: string; readonly total: number }[];
  };
  readonly errors: readonly { readonly code: string; readonly total: number }[];
  readonly pool?: Readonly<Record<'max' | 'total' | 'idle' | 'waiting', number>>;
  readonly eventLoop: readonly { readonly state: string; readonly total: number }[];
  readonly memoryBytes: number;
  readonly deprecated: readonly {
    readonly operation: string;
    readonly callers: readonly { readonly caller: string; readonly total: number }[];
  }[];
}

type ToStatus = (metrics: string, facts: unknown) => Status;

const SCRIPT = new URL('../../src/gateway/pages/browser/status-metrics.js', import.meta.url);

/** Returns what the /status page shows. */
export async function readStatus({ url }: { url: string }): Promise<Status> {
  const { toStatus } = (await import(SCRIPT.href)) as { toStatus: ToStatus };
  const page = await (await fetch(`${url}/status`)).text();
  const [, facts = ''] = /data-facts="(.*?)"/.exec(page) ?? [];
  const metrics = await (await fetch(`${url}/metrics`)).text();
  return toStatus(metrics, JSON.parse(facts.replaceAll('&quot;', '"')));
}

/** Polls until /metrics has counted this many requests: each is counted only after its response is complete. */
export const awaitStatus = (gateway: { url: string }, requests: number): Promise<Status> =>
  vi.waitFor(
    async () => {
      const status = await readStatus(gateway);
      if (status.requests.total < requests) throw new Error(JSON.stringify(status));
      return status;
    },
    { timeout: 40_000 },
  );
