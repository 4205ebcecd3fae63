import { type Client, createClient, type SubscribePayload } from 'graphql-ws';
import { expect, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';

import type { ClientError, Data, Gateway } from './gateway.ts';
import { makeCategory } from './make.ts';
import { parseMetrics, sumOf } from './metrics.ts';
import { searchOf } from './post.ts';
import { lastCursor, untilSettled } from './settled.ts';
import { withScopes } from './tokens.ts';

interface Target {
  readonly url: string;
}

export async function countStreams({ url }: Target): Promise<number> {
  const headers = await withScopes('metrics');
  const response = await fetch(`${url}/metrics`, { headers });
  return sumOf(parseMetrics(await response.text()), 'streams_active');
}

/** Waits until no subscription is open on any of the gateways. */
export async function untilNoStreams(...targets: readonly Target[]): Promise<void> {
  for (const target of targets) {
    await expect.poll(() => countStreams(target), { interval: 10 }).toBe(0);
  }
}

export interface LiveResult {
  readonly data?: Data;
  readonly errors?: readonly ClientError[];
  readonly extensions?: Readonly<Record<string, unknown>>;
}

/** Returns a subscription to categories after the last change, so that it misses no change. */
export async function subscriptionTo(gateway: Gateway) {
  await makeCategory(gateway, 'last');
  const after = await lastCursor(gateway);
  return {
    query: 'subscription ($after: String) { categoryChanged(after: $after) { after { name } } }',
    variables: { after },
  };
}

/** One Server-Sent Event; `comment` is the text of a comment line, which has no event. */
interface ServerEvent {
  readonly id?: string;
  readonly event?: string;
  readonly data?: string;
  readonly comment?: string;
}

function parseEvent(block: string): ServerEvent {
  const fields = block.split('\n').map((line): [string, string] => {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon);
    return [name === '' ? 'comment' : name, line.slice(colon + 1).trim()];
  });
  return Object.fromEntries(fields);
}

/** Reads Server-Sent Events until the response completes. */
async function* readEvents({ body }: Response): AsyncGenerator<ServerEvent> {
  let unread = '';
  for await (const chunk of (body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    const blocks = (unread + chunk).split('\n\n');
    unread = blocks.pop() ?? '';
    yield* blocks.map(parseEvent);
  }
  if (unread !== '') throw new Error(`The response ends within an event: ${unread}`);
}

/** The results of a request over Server-Sent Events. */
export interface EventStream {
  readonly response: Response;
  /** Returns the next event or comment; undefined if the response has ended. */
  event(): Promise<ServerEvent | undefined>;
  /** Returns the next result; undefined after the event `complete`. */
  result(): Promise<LiveResult | undefined>;
  /** Returns the data of the next result, which must have no errors. */
  data(): Promise<Data>;
  /** Returns the remaining results, until the event `complete` and the end of the response. */
  rest(): Promise<LiveResult[]>;
  /** Closes the connection. */
  disconnect(): void;
}

interface EventsOptions {
  readonly variables?: Record<string, unknown>;
  readonly headers?: Record<string, string>;
  readonly method?: 'GET' | 'POST';
}

/** Like openEvents(), until the test ends. */
export const openUntilEnd: typeof openEvents = async (...args) => {
  const stream = await openEvents(...args);
  onTestFinished(() => stream.disconnect());
  return stream;
};

/**
 * Sends an operation or its parameters, and returns results as they arrive. Waits until all changes can be read, so that a
 * subscription does not begin with those that the test has made before.
 */
export async function openEvents(
  { url, db }: Target & { readonly db?: Gateway['db'] },
  operation: string | Record<string, unknown>,
  { variables, headers, method = 'POST' }: EventsOptions = {},
): Promise<EventStream> {
  const params = typeof operation === 'string' ? { query: operation, variables } : operation;
  const controller = new AbortController();
  if (db) await untilSettled(db);
  const response = await fetch(`${url}/graphql${method === 'GET' ? `?${searchOf(params)}` : ''}`, {
    method,
    headers: {
      accept: 'text/event-stream',
      ...(method === 'POST' && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(method === 'POST' && { body: JSON.stringify(params) }),
    signal: controller.signal,
  });
  const events = readEvents(response);
  const event: EventStream['event'] = async () => (await events.next()).value ?? undefined;
  const result: EventStream['result'] = async () => {
    for (let next = await event(); next; next = await event()) {
      if (next.event === 'complete') return undefined;
      if (next.event === 'next') return JSON.parse(next.data ?? '') as LiveResult;
    }
    throw new Error('The response has ended without the event `complete`.');
  };
  return {
    response,
    event,
    result,
    data: async () => {
      const { data, errors } = (await result()) ?? {};
      if (errors || !data) throw new Error(`No data: ${JSON.stringify(errors)}`);
      return data;
    },
    rest: async () => {
      const results: LiveResult[] = [];
      for (let next = await result(); next; next = await result()) results.push(next);
      const after = await event();
      if (after) throw new Error(`After \`complete\`: ${JSON.stringify(after)}`);
      return results;
    },
    disconnect: () => controller.abort(),
  };
}

/** Subscribes to a field, as `changed`, until the test ends: to the changes after the cursor `$after`, or from now on. */
export const follow = (gateway: Gateway, field: string, after?: string): Promise<EventStream> => {
  const declared = field.includes('$after') ? '($after: String)' : '';
  const query = `subscription ${declared} { changed: ${field} }`;
  return openUntilEnd(gateway, { query, variables: { after } });
};

/** Returns what the next change has of the field that `follow` subscribes to. */
export const changed = async (stream: EventStream): Promise<Data> => (await stream.data()).changed;

export const socketUrl = ({ url }: Target, path = '/graphql'): string =>
  url.replace('http', 'ws') + path;

/** Creates a graphql-transport-ws client that does not reconnect. */
export const createSocketClient = (
  target: Target,
  connectionParams: Record<string, unknown> = {},
): Client =>
  createClient({
    url: socketUrl(target),
    webSocketImpl: WebSocket,
    connectionParams,
    retryAttempts: 0,
  });

/** Sends an operation over a WebSocket, and returns its results; errors before its execution are one, too. */
export async function resultsBySocket(
  target: Target,
  operation: SubscribePayload,
  headers?: Record<string, string>,
): Promise<LiveResult[]> {
  const client = createSocketClient(target, headers);
  const results: LiveResult[] = [];
  try {
    for await (const result of client.iterate(operation)) results.push(result as LiveResult);
  } catch (errors) {
    results.push({ errors: errors as ClientError[] });
  }
  await client.dispose();
  return results;
}

/** A WebSocket without the client of graphql-ws: the test sends each message itself. */
export interface RawSocket {
  readonly socket: WebSocket;
  send(message: object | string): void;
  /** Returns the next message. */
  message(): Promise<Record<string, Data>>;
  readonly closed: Promise<{ code: number; reason: string }>;
}

/** Opens a WebSocket. Rejects with `Unexpected server response: <status>` if it is not accepted. */
export async function openSocket(
  target: Target,
  headers: Record<string, string> = {},
): Promise<RawSocket> {
  const socket = new WebSocket(socketUrl(target), 'graphql-transport-ws', { headers });
  const received: Record<string, Data>[] = [];
  const waiting: ((message: Record<string, Data>) => void)[] = [];
  socket.on('message', (text: Buffer) => {
    const message = JSON.parse(text.toString()) as Record<string, Data>;
    const take = waiting.shift();
    if (take) take(message);
    else received.push(message);
  });
  const closed: RawSocket['closed'] = new Promise((resolve) => {
    socket.once('close', (code, reason) => resolve({ code, reason: reason.toString() }));
  });
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve);
    socket.on('error', reject);
  });
  return {
    socket,
    send: (message) => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
    message: async () =>
      received.shift() ??
      new Promise((resolve) => {
        waiting.push(resolve);
      }),
    closed,
  };
}

/** Opens a WebSocket and sends its first message. */
export async function openInitialized(
  target: Target,
  payload: Record<string, unknown> = {},
): Promise<RawSocket> {
  const opened = await openSocket(target);
  opened.send({ type: 'connection_init', payload });
  await opened.message();
  return opened;
}
