import { vi } from 'vitest';

interface Count {
  readonly recent: number;
  readonly total: number;
}

/** The content of /status.json. */
export interface Status {
  readonly version: string;
  readonly node: string;
  readonly startedAt: string;
  readonly at: string;
  readonly processes: { readonly configured: number; readonly reporting: number };
  readonly database: { readonly kind: string; readonly version: string; readonly state: string };
  readonly sampleSeconds: number;
  readonly samples: readonly {
    readonly at: string;
    readonly requestsPerSecond: number;
    readonly errorsPerSecond: number;
    readonly p50Ms: number | null;
    readonly p99Ms: number | null;
    readonly pool?: Readonly<Record<'max' | 'total' | 'idle' | 'waiting', number>>;
    readonly eventLoopBusy: number;
    readonly memoryBytes: number;
  }[];
  readonly requests: Count;
  readonly errors: readonly (Count & { readonly code: string })[];
  readonly deprecated: readonly {
    readonly operation: string;
    readonly callers: readonly (Count & { readonly caller: string })[];
  }[];
}

/** Reads /status.json, with headers such as a token. */
export async function readStatus(
  { url }: { url: string },
  headers: Record<string, string> = {},
): Promise<Status> {
  const response = await fetch(`${url}/status.json`, { headers });
  if (response.status !== 200) throw new Error(`/status.json answers ${response.status}.`);
  return (await response.json()) as Status;
}

/** Polls, as a sample takes its time: until it has this number of requests, or what `isThere` wants. */
export function awaitStatus(
  gateway: { url: string },
  wanted: number | ((status: Status) => boolean),
  headers: Record<string, string> = {},
): Promise<Status> {
  const isThere =
    typeof wanted === 'number' ? ({ requests }: Status) => requests.total >= wanted : wanted;
  const poll = async (): Promise<Status> => {
    const status = await readStatus(gateway, headers);
    if (!isThere(status)) throw new Error(`Not there yet: ${JSON.stringify(status)}`);
    return status;
  };
  return vi.waitFor(poll, { timeout: 40_000, interval: 200 });
}
