import { vi } from 'vitest';

/** The content of /status.json. */
export interface Status {
  readonly version: string;
  readonly node: string;
  readonly startedAt: string;
  readonly at: string;
  readonly processes: { readonly configured: number; readonly reporting: number };
  readonly database: { readonly kind: string; readonly version: string; readonly state: string };
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

/** Reads /status.json. */
export async function readStatus({ url }: { url: string }): Promise<Status> {
  const response = await fetch(`${url}/status.json`);
  if (response.status !== 200) throw new Error(`/status.json answers ${response.status}.`);
  return (await response.json()) as Status;
}

/** Polls until /status.json has counted so many requests: one is counted when its response has ended. */
export const awaitStatus = (gateway: { url: string }, requests: number): Promise<Status> =>
  vi.waitFor(
    async () => {
      const status = await readStatus(gateway);
      if (status.requests.total < requests) throw new Error(JSON.stringify(status));
      return status;
    },
    { timeout: 40_000 },
  );
