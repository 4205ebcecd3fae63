import { request } from 'node:http';

import { WebSocket } from 'ws';

import type { Random } from '../random.ts';

/** What a subscriber follows: a field of Subscription, and which rows match. */
export interface Interest {
  readonly field: string;
  /** Its arguments besides `after`, as GraphQL. */
  readonly filter: string;
  /** The same condition for rows of the record, as SQL. */
  readonly sql: string;
}

const PETS_A_FILTER = 3;

/** The condition that a row has one of these values before or after its change. */
const meets = (column: string, values: string): string =>
  `(before->>'${column}' in (${values}) or after->>'${column}' in (${values}))`;

/** Chooses what to follow. */
function chooseInterest(random: Random, pets: number): Interest {
  const ids = Array.from({ length: PETS_A_FILTER }, () => random.whole(1, pets)).join();
  const texts = ids.replaceAll(/\d+/g, "'$&'");
  const category = random.whole(1, 5);
  return random.pick<Interest>([
    { field: 'petChanged', filter: '', sql: `type = 'Pet'` },
    {
      field: 'petChanged',
      filter: `ids: [${ids}]`,
      sql: `type = 'Pet' and ${meets('id', texts)}`,
    },
    {
      field: 'petChanged',
      filter: `categoryId: ${category}`,
      sql: `type = 'Pet' and ${meets('category_id', `'${category}'`)}`,
    },
    {
      field: 'petChanged',
      filter: 'status: [SOLD]',
      sql: `type = 'Pet' and ${meets('status', `'sold'`)}`,
    },
    { field: 'orderChanged', filter: '', sql: `type = 'Order'` },
    { field: 'inventoryChanged', filter: '', sql: `type = 'InventoryItem'` },
    {
      field: 'inventoryChanged',
      filter: `petIds: [${ids}]`,
      sql: `type = 'InventoryItem' and ${meets('pet_id', texts)}`,
    },
  ]);
}

/** Events that a subscriber receives, and how to end its connection. */
interface Connection {
  readonly cut: () => void;
}

interface Handlers {
  readonly onResult: (result: Result) => void;
  readonly onEnd: () => void;
}

interface Result {
  readonly data?: Readonly<Record<string, { readonly cursor: string }>> | null;
  readonly errors?: readonly { readonly extensions?: { readonly code?: string } }[];
}

/** A message of the protocol graphql-transport-ws. */
type Message =
  | { readonly type: 'connection_ack' | 'complete' }
  | { readonly type: 'next'; readonly payload: Result }
  | { readonly type: 'error'; readonly payload: NonNullable<Result['errors']> };

/** Subscribes by Server-Sent Events. */
function openEvents(url: string, query: string, { onResult, onEnd }: Handlers): Connection {
  const headers = { 'content-type': 'application/json', accept: 'text/event-stream' };
  const sent = request(`${url}/graphql`, { method: 'POST', headers, agent: false });
  sent.on('error', onEnd).on('response', (response) => {
    let unread = '';
    response.setEncoding('utf8').on('data', (text: string) => {
      const events = (unread + text).split('\n\n');
      unread = events.pop() ?? '';
      for (const event of events) {
        const data = /^event: next\ndata: (.*)$/.exec(event)?.[1];
        if (data) onResult(JSON.parse(data) as Result);
      }
    });
    response.on('close', onEnd).on('error', onEnd);
  });
  sent.end(JSON.stringify({ query }));
  return { cut: () => sent.destroy() };
}

/** Subscribes by WebSocket. */
function openWebSocket(url: string, query: string, { onResult, onEnd }: Handlers): Connection {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
  const send = (message: object): void => socket.send(JSON.stringify(message));
  socket.on('error', onEnd).on('close', onEnd);
  socket.on('open', () => send({ type: 'connection_init' }));
  socket.on('message', (text: Buffer) => {
    const message = JSON.parse(text.toString()) as Message;
    if (message.type === 'connection_ack') send({ id: '1', type: 'subscribe', payload: { query } });
    else if (message.type === 'next') onResult(message.payload);
    else if (message.type === 'error') onResult({ errors: message.payload });
    if (message.type === 'complete' || message.type === 'error') socket.terminate();
  });
  return { cut: () => socket.terminate() };
}

/** Follows changes, and subscribes again after the last cursor whenever it is cut off. */
export class Subscriber {
  readonly interest: Interest;
  readonly cursors: string[] = [];
  reconnects = 0;
  readonly #random: Random;
  readonly #urls: () => readonly string[];
  readonly #onUnexpected: (code: string) => void;
  #after: string;
  #connection: Connection | undefined;
  #isClosed = false;

  constructor(
    {
      random,
      urls,
      pets,
      after,
    }: { random: Random; urls: () => readonly string[]; pets: number; after: string },
    onUnexpected: (code: string) => void,
  ) {
    this.#random = random;
    this.#urls = urls;
    this.#after = after;
    this.#onUnexpected = onUnexpected;
    this.interest = chooseInterest(random, pets);
    this.#connect();
  }

  /** Cuts the connection, as a network does. */
  cut(): void {
    this.#connection?.cut();
  }

  close(): void {
    this.#isClosed = true;
    this.cut();
  }

  #connect(): void {
    const { field, filter } = this.interest;
    const query = `subscription { ${field}(after: "${this.#after}"${filter && `, filter: { ${filter} }`}) { cursor } }`;
    const open = this.#random.chance(0.5) ? openEvents : openWebSocket;
    let hasEnded = false;
    this.#connection = open(this.#random.pick(this.#urls()), query, {
      onResult: ({ data, errors }) => {
        if (hasEnded) return;
        const code = errors?.[0]?.extensions?.code;
        const isExpected =
          code === undefined || /^(SERVICE_UNAVAILABLE|SLOW_SUBSCRIBER)$/.test(code);
        if (!isExpected) this.#onUnexpected(code);
        const cursor = data?.[field]?.cursor;
        if (cursor === undefined) return;
        this.cursors.push(cursor);
        this.#after = cursor;
      },
      onEnd: () => {
        if (hasEnded) return;
        hasEnded = true;
        if (this.#isClosed) return;
        this.reconnects += 1;
        setTimeout(() => this.#connect(), this.#random.whole(10, 300));
      },
    });
  }
}
