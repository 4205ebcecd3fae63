import { setTimeout as sleep } from 'node:timers/promises';

import { type EventStream, openEvents } from '../support/live.ts';
import type { Client } from './client.ts';
import type { GatewayProcess } from './gateway-process.ts';
import type { Journal } from './journal.ts';
import { pick, whole } from './random.ts';

const FOLLOWERS_OF_EACH = 4;
const CUT_EVERY_MS = 500;
const MAX_WAIT_MS = 30_000;

/** The fields of Subscription that are followed, by the type of their changes in the change log. */
const FIELDS = { OrderChange: 'orderChanged', InventoryItemChange: 'inventoryChanged' };
type Type = keyof typeof FIELDS;

interface Page {
  readonly changes: {
    readonly nodes: readonly { readonly __typename: Type; readonly cursor: string }[];
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
  };
}

/** Follows the changes of a type; subscribes again after the last cursor whenever the connection is lost. */
class Follower {
  /** The cursors of the received changes; the caller may remove them. */
  readonly cursors: string[] = [];
  readonly type: Type;
  readonly #journal: Journal;
  #after: string;
  #stream: EventStream | undefined;
  #isClosed = false;

  constructor(gateway: GatewayProcess, journal: Journal, type: Type, after: string) {
    this.type = type;
    this.#journal = journal;
    this.#after = after;
    void this.#follow(gateway);
  }

  /** Cuts the connection, as a network failure would. */
  cut(): void {
    this.#stream?.disconnect();
  }

  close(): void {
    this.#isClosed = true;
    this.cut();
  }

  async #follow(gateway: GatewayProcess): Promise<void> {
    while (!this.#isClosed) {
      // Any error means a lost connection.
      await this.#readAll(gateway).catch(() => {});
      this.cut();
      await sleep(whole(10, 300));
    }
  }

  /** Subscribes and reads until the connection ends. */
  async #readAll(gateway: GatewayProcess): Promise<void> {
    const field = FIELDS[this.type];
    const query = `subscription { change: ${field}(after: "${this.#after}") { cursor } }`;
    this.#stream = await openEvents(gateway, query);
    for (;;) {
      const result = await this.#stream.result();
      if (!result) return;
      const code = result.errors?.[0]?.extensions.code ?? 'SERVICE_UNAVAILABLE';
      if (code !== 'SERVICE_UNAVAILABLE' && code !== 'SLOW_SUBSCRIBER') {
        this.#journal.violate(`A subscription to ${field} ended with ${code}.`);
      }
      const data = result.data as { change: { cursor: string } } | null | undefined;
      if (!data) continue;
      this.#after = data.change.cursor;
      this.cursors.push(this.#after);
    }
  }
}

/** Honest subscribers whose connections are cut: each must receive each change once, in the order of the change log. */
export class Followers {
  received = 0;
  readonly #client: Client;
  readonly #journal: Journal;
  readonly #followers: readonly Follower[];
  readonly #cutting: NodeJS.Timeout;
  /** The cursor up to which changes have been compared. */
  #compared: string;

  private constructor(gateway: GatewayProcess, client: Client, journal: Journal, after: string) {
    this.#client = client;
    this.#journal = journal;
    this.#compared = after;
    this.#followers = (Object.keys(FIELDS) as Type[]).flatMap((type) =>
      Array.from({ length: FOLLOWERS_OF_EACH }, () => new Follower(gateway, journal, type, after)),
    );
    this.#cutting = setInterval(() => pick(this.#followers).cut(), CUT_EVERY_MS);
  }

  /** Starts followers of the changes that are made from now on. */
  static async start(gateway: GatewayProcess, client: Client, journal: Journal) {
    const query = '{ changes(last: 1) { pageInfo { endCursor } } }';
    const { data } = await client.graphql<Page>({ query });
    return new Followers(gateway, client, journal, data.changes.pageInfo.endCursor ?? '');
  }

  close(): void {
    clearInterval(this.#cutting);
    for (const follower of this.#followers) follower.close();
  }

  /** Compares what was received with the change log, while no honest caller writes. */
  async check(): Promise<void> {
    const changes = await this.#readLog();
    const deadline = performance.now() + MAX_WAIT_MS;
    for (const { type, cursors } of this.#followers) {
      const expected = changes
        .filter(({ __typename }) => __typename === type)
        .map(({ cursor }) => cursor);
      while (cursors.at(-1) !== expected.at(-1) && performance.now() < deadline) await sleep(50);
      const received = cursors.splice(0);
      this.received += received.length;
      if (received.join() === expected.join()) continue;
      const at = expected.findIndex((cursor, index) => cursor !== received[index]);
      const counts = `${received.length} of ${expected.length} changes`;
      this.#journal.violate(`A follower of ${FIELDS[type]} has ${counts}; they differ at ${at}.`);
    }
  }

  /** Returns the changes since the last comparison. */
  async #readLog(): Promise<Page['changes']['nodes']> {
    const all: Page['changes']['nodes'][number][] = [];
    for (let hasMore = true; hasMore;) {
      const query = `{ changes(first: 100, after: "${this.#compared}") {
        nodes { __typename ... on Change { cursor } } pageInfo { hasNextPage endCursor } } }`;
      const { changes } = (await this.#client.graphql<Page>({ query })).data;
      all.push(...changes.nodes);
      hasMore = changes.pageInfo.hasNextPage;
      this.#compared = changes.pageInfo.endCursor ?? this.#compared;
    }
    return all;
  }
}
