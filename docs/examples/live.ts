import type { FormattedExecutionResult } from 'graphql';
import { createClient as createSseClient, type RequestParams } from 'graphql-sse';
import {
  type ClientOptions,
  CloseCode,
  createClient as createWebSocketClient,
  type Sink,
} from 'graphql-ws';

/** A subscription whose document has the variable `$after` and selects the `cursor` of each change. */
export interface LiveRequest {
  readonly query: string;
  readonly operationName?: string | undefined;
  /** The document's id in the manifest of a gateway with DOCUMENTS=trusted. */
  readonly documentId?: string;
  readonly variables?: Record<string, unknown> | undefined;
  /** What a failed field does to the rest of a result. */
  readonly onError?: 'PROPAGATE' | 'NULL' | 'HALT';
}

/** Starts a subscription; returns a function that ends it. */
export type Subscribe = (request: LiveRequest, sink: Sink<FormattedExecutionResult>) => () => void;

/** Returns the headers of a request, including a valid token. */
type ReadHeaders = () => Promise<Record<string, string>>;

/** Subscribes over a WebSocket: one connection for all subscriptions. */
export function openWebSockets(
  url: string,
  readHeaders: ReadHeaders,
  options: Partial<ClientOptions> = {},
): Subscribe {
  const connectionParams = readHeaders;
  const client = createWebSocketClient({ url, connectionParams, retryAttempts: 0, ...options });
  return (request, sink) => client.subscribe(request, sink);
}

/** Subscribes over Server-Sent Events: one request for each subscription. */
export function openEventStreams(url: string, headers: ReadHeaders): Subscribe {
  const client = createSseClient({ url, headers, retryAttempts: 0 });
  // The errors that graphql-sse passes to the sink differ from those that its types declare.
  return (request, sink) => client.subscribe(request as RequestParams, sink as Sink);
}

/**
 * Sends the id of each document with its text, for gateways with DOCUMENTS=trusted; `toId` returns the
 * id that a text has in the manifest.
 */
export const withIds =
  (subscribe: Subscribe, toId: (query: string) => string): Subscribe =>
  (request, sink) =>
    subscribe({ documentId: toId(request.query), ...request }, sink);

// A subscription can be resumed after these errors.
const PASSING: readonly unknown[] = ['SERVICE_UNAVAILABLE', 'SLOW_SUBSCRIBER', 'UNAUTHENTICATED'];
const STABLE_MS = 10_000;
const MAX_PAUSE_MS = 30_000;

type Errors = FormattedExecutionResult['errors'];

/** Whether to try again. There are no errors if no answer has arrived. */
function mayTryAgain(errors: Errors, failures: number): boolean {
  if (!errors) return true;
  const codes = errors.map(({ extensions }) => extensions?.['code']);
  // True once retries with new tokens have failed too.
  const isRejected = codes.includes('UNAUTHENTICATED') && failures > 2;
  return !isRejected && codes.some((code) => PASSING.includes(code));
}

/** Many clients lose their connections at the same time; they should not all reconnect at the same time. */
const pauseAfter = (failures: number, pauseMs: number): number =>
  Math.min(pauseMs * 2 ** failures, MAX_PAUSE_MS) * (0.5 + Math.random());

/** Returns the errors of a failed subscription; undefined if its connection was lost. */
function toResult(error: unknown): FormattedExecutionResult | undefined {
  if (Array.isArray(error)) return { errors: error };
  // The gateway closes a WebSocket with this code if it rejects the token.
  const { code, reason = '' } = (error ?? {}) as { code?: number; reason?: string };
  if (code !== CloseCode.Forbidden) return undefined;
  return { errors: [{ message: reason, extensions: { code: 'UNAUTHENTICATED' } }] };
}

/** Returns the cursor of the change in the only field of the data. */
function cursorOf({ data }: FormattedExecutionResult): string | undefined {
  const [change] = Object.values(data ?? {}) as { cursor?: string }[];
  return change?.cursor;
}

/** Reads the end of the change log. With trusted documents, the manifest must contain this query too. */
export const LAST_CURSOR = `query LastCursor {
  changes(last: 1) { pageInfo { endCursor } }
}`;

/** The data of `LAST_CURSOR`. */
export type LastCursor = {
  readonly changes: { readonly pageInfo: { readonly endCursor: string | null } };
};

/**
 * Returns a `Subscribe` that subscribes again after the last cursor if the connection is lost, the gateway shuts down,
 * the subscriber is too slow or the token expires. Without a cursor, it first reads the end of the log, so that no
 * change is missed even if the connection is lost before the first one. An error that the app must handle, such as
 * CURSOR_EXPIRED, is delivered as the last result.
 */
export const resume =
  (subscribe: Subscribe, pauseMs = 1000): Subscribe =>
  ({ variables, ...request }, sink) => {
    let after = variables?.['after'];
    let failures = 0;
    let isStopped = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let close: (() => void) | undefined;
    // If a subscription is ended while its last result is being delivered, graphql-ws 6.4.2 counts its end twice and
    // keeps the connection open.
    const closeSoon = (): void => queueMicrotask(() => close?.());

    const begin = (): void => {
      const start = Date.now();
      let isOpen = true;
      const end = (result?: FormattedExecutionResult): void => {
        if (!isOpen || isStopped) return;
        isOpen = false;
        closeSoon();
        if (Date.now() - start > STABLE_MS) failures = 0;
        if (result && !mayTryAgain(result.errors, failures)) {
          sink.next(result);
          sink.complete();
          return;
        }
        timer = setTimeout(begin, pauseAfter(failures, pauseMs));
        failures += 1;
      };
      const open = (
        sent: LiveRequest,
        onResult: (result: FormattedExecutionResult) => void,
        onComplete: () => void,
      ): void => {
        close = subscribe(sent, {
          next: (result) => {
            if (!isOpen || isStopped) return;
            if (result.errors) end(result);
            else onResult(result);
          },
          error: (error) => end(toResult(error)),
          complete: () => {
            if (isOpen && !isStopped) onComplete();
          },
        });
      };
      const followLog = (): void =>
        open(
          { ...request, variables: { ...variables, after } },
          (result) => {
            after = cursorOf(result) ?? after;
            failures = 0;
            sink.next(result);
          },
          end,
        );
      if (after != null) return followLog();
      open(
        { query: LAST_CURSOR },
        ({ data }) => {
          after = (data as LastCursor).changes.pageInfo.endCursor;
        },
        followLog,
      );
    };

    begin();
    return () => {
      isStopped = true;
      clearTimeout(timer);
      closeSoon();
    };
  };

/** An app's callbacks for data and its changes. */
export interface Follower<Change> {
  /** Loads all data: at the start, and again whenever changes have been missed. */
  readonly readRows: () => Promise<unknown>;
  readonly onChange: (change: Change) => void;
  readonly onError: (error: unknown) => void;
}

/** Returns the gateway's errors in an exception of a client; undefined if no answer has arrived. */
function errorsIn(error: unknown): Errors {
  type Failure = { errors?: Errors; graphQLErrors?: Errors; source?: { errors?: Errors } };
  const { errors, graphQLErrors, source } = (error ?? {}) as Failure;
  const all = errors ?? graphQLErrors ?? source?.errors;
  return all?.length ? all : undefined;
}

/**
 * Follows data until the returned function is called. `begin` loads the data and subscribes; it receives a
 * function that does both again when the cursor has expired. While the gateway does not respond, `begin` is called
 * again, after longer and longer pauses.
 */
export async function follow(
  begin: (again: () => void) => Promise<() => void>,
  onError: (error: unknown) => void,
): Promise<() => void> {
  let isStopped = false;
  let stop: (() => void) | undefined;
  const restart = async (failures = 0): Promise<void> => {
    try {
      const stopThis = await begin(() => void restart().catch(onError));
      stop = stopThis;
      if (isStopped) stopThis();
    } catch (error) {
      if (!mayTryAgain(errorsIn(error), failures)) throw error;
      await new Promise((resolve) => setTimeout(resolve, pauseAfter(failures, 1000)));
      if (!isStopped) await restart(failures + 1);
    }
  };
  await restart();
  return () => {
    isStopped = true;
    stop?.();
  };
}
