import { randomUUID } from 'node:crypto';
import { METHODS } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import { WORST_DOCUMENTS } from '../support/hostile-documents.ts';
import { post } from '../support/post.ts';
import { always, type Fault, repeat, type World } from './fault.ts';
import type { Random } from './random.ts';
import { SUBSCRIBERS } from './subscribers.ts';

const MAX_CONNECTION_MS = 2000;
const BREAKING_AT_ONCE = 8;
const SLOW_CONNECTIONS = 30;
const DRIP_MS = 200;
const HEAVY_AT_ONCE = 8;
const NEW_AT_ONCE = 8;
const LONG_AT_ONCE = 4;
const TIMEOUT_MS = 30_000;

const HOST = 'Host: localhost';
const JSON_TYPE = 'Content-Type: application/json';
const PLACE = JSON.stringify({ query: '{ pets(first: 100) { totalCount nodes { name } } }' });

const request = (line: string, headers: readonly string[], body = ''): string =>
  `${[`${line} HTTP/1.1`, HOST, ...headers].join('\r\n')}\r\n\r\n${body}`;

/** Returns a request, or several in a pipeline, of which any part may be missing. */
function randomBytes(random: Random): string {
  const method = random.pick(METHODS);
  const length = `Content-Length: ${PLACE.length}`;
  const whole = random.pick([
    `${method} a:1 HTTP/1.1\r\n\r\n`,
    request(`${method} /pets/1`, []),
    request('GET /store/orders', []).repeat(random.whole(1, 5)),
    request(`${method} /graphql`, ['Connection: Upgrade', 'Upgrade: websocket']),
    request('POST /graphql', [JSON_TYPE, length], PLACE).repeat(random.whole(1, 5)),
    request('POST /graphql', [JSON_TYPE, length, 'Expect: 100-continue'], PLACE),
    request(
      'POST /graphql',
      [JSON_TYPE, 'Transfer-Encoding: chunked'],
      `${PLACE.length.toString(16)}\r\n${PLACE}\r\n0\r\n\r\n`,
    ),
    request(`${method} /`, [`X: ${'x'.repeat(20_000)}`]),
    request('GET /pets/1', []) + request(`${method} a:1`, [], '\0'),
  ]);
  return random.chance(0.3) ? whole : whole.slice(0, random.whole(1, whole.length));
}

function open({ gateway }: World): Socket {
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
  // These connections are meant to fail.
  socket.on('error', () => {});
  return socket;
}

/** Opens one connection, breaks it at a random place, and waits until it is closed. */
async function breakConnection(world: World): Promise<void> {
  const { random } = world;
  const ending = random.pick(['reset', 'reset at the answer', 'half-close', 'both', 'wait']);
  const bytes = randomBytes(random);
  const socket = open(world);
  const closed = new Promise<void>((resolve) => void socket.once('close', () => resolve()));
  socket.setTimeout(MAX_CONNECTION_MS, () => socket.resetAndDestroy());
  socket.on('data', () => ending === 'reset at the answer' && socket.resetAndDestroy());
  socket.write(bytes, () => {
    if (ending === 'reset') socket.resetAndDestroy();
    if (ending === 'half-close') socket.end();
    if (ending === 'both') socket.end(() => socket.resetAndDestroy());
  });
  await closed;
  await sleep(random.whole(0, 50));
}

/** Opens many connections, does something with each, and breaks them all at the end. */
function openMany(world: World, use: (socket: Socket) => void): () => void {
  const sockets = Array.from({ length: SLOW_CONNECTIONS }, () => open(world));
  for (const socket of sockets) use(socket);
  return () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
}

/** Sends a request byte by byte. */
async function drip(socket: Socket, bytes: string): Promise<void> {
  for (const byte of bytes) {
    if (socket.destroyed) return;
    socket.write(byte);
    await sleep(DRIP_MS);
  }
}

const nest = (levels: number): string =>
  'category { pets(first: 3) { nodes { '.repeat(levels) + 'name' + ' } } }'.repeat(levels);

// They cost as much as the limits allow.
const HEAVY_QUERIES = [
  '{ pets(filter: { name: "nn" }, first: 100) { totalCount nodes { name } } }',
  '{ pets(filter: { name: "zq" }, orderBy: { field: NAME }) { totalCount } }',
  '{ orders { totalCount } pets { totalCount } inventory { totalCount } categories { totalCount } }',
  '{ pets(first: 50) { nodes { name orders(first: 50) { nodes { id quantity } } } } }',
  '{ categories(first: 20) { nodes { pets(first: 20, filter: { name: "an" }) { totalCount } } } }',
  `{ pet(id: "1") { ${nest(5)} } }`,
  '{ orders(last: 100, orderBy: { field: SHIP_DATE }) { nodes { pet { category { name } } } } }',
];

/** Sends a query and ignores the response. */
async function ask({ gateway }: World, query: string): Promise<void> {
  try {
    const response = await fetch(`${gateway.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    await response.text();
  } catch {
    // Another fault may be active; this caller needs no response.
    await sleep(100);
  }
}

/** Sends a document that no cache has, and that takes long to validate. */
const askAnew = (world: World): Promise<void> =>
  ask(world, `${world.random.pick(WORST_DOCUMENTS)}#${randomUUID()}`);

const CONTROL_CHARACTERS = '\u0001'.repeat(2000);
const LONG_TEXTS = Array.from({ length: 95 }, (_, index) => `d${index}: description`).join(' ');

/** Stores a category with a long description, and a page of pets in it; returns its id. */
async function storeLongText({ gateway }: World): Promise<string> {
  const write = async (query: string, variables: object): Promise<Record<string, { id: string }>> =>
    ((await (await post(gateway, { query, variables })).json()) as { data: never }).data;
  const category =
    'mutation ($text: String) { category: createCategory(input: { name: "Long", description: $text }) { ... on Category { id } } }';
  const { id = '' } = (await write(category, { text: CONTROL_CHARACTERS }))['category'] ?? {};
  const pets = Array.from(
    { length: 50 },
    (_, index) => `p${index}: createPet(input: { name: "Long", categoryId: $id }) { __typename }`,
  );
  for (const half of [1, 2])
    await write(`mutation Half${half}($id: ID!) { ${pets.join(' ')} }`, { id });
  return id;
}

/** Asks for a text of a category once for each of its pets and aliases. */
function askForLongTexts(): (world: World) => Promise<void> {
  let id: string | undefined;
  return async (world) => {
    // Undefined while another fault is active.
    id ??= await storeLongText(world).catch(() => undefined);
    const page = `pets(first: 100, filter: { categoryId: "${id ?? 0}" })`;
    await ask(world, `{ ${page} { nodes { category { ${LONG_TEXTS} } } } }`);
  };
}

/** Bad neighbours: honest callers are answered beside them all the time. */
export const NEIGHBOURS: readonly Fault[] = [
  {
    name: 'connections that break',
    target: 'neighbour',
    disturbs: false,
    isPossible: always,
    start: (world) => repeat(BREAKING_AT_ONCE, () => breakConnection(world)),
  },
  {
    name: 'readers that read nothing',
    target: 'neighbour',
    disturbs: false,
    isPossible: always,
    start: (world) =>
      openMany(world, (socket) => {
        socket.pause();
        socket.write(request('GET /store/orders', []).repeat(world.random.whole(1, 50)));
      }),
  },
  {
    name: 'senders of a byte at a time',
    target: 'neighbour',
    disturbs: false,
    isPossible: always,
    start: (world) => openMany(world, (socket) => void drip(socket, randomBytes(world.random))),
  },
  {
    name: 'expensive queries',
    target: 'neighbour',
    disturbs: false,
    isPossible: always,
    start: (world) => repeat(HEAVY_AT_ONCE, () => ask(world, world.random.pick(HEAVY_QUERIES))),
  },
  {
    name: 'senders of new documents',
    target: 'neighbour',
    disturbs: false,
    isPossible: always,
    start: (world) => repeat(NEW_AT_ONCE, () => askAnew(world)),
  },
  {
    name: 'readers of many long texts',
    target: 'neighbour',
    disturbs: false,
    isPossible: always,
    start: (world) => {
      const askAgain = askForLongTexts();
      return repeat(LONG_AT_ONCE, () => askAgain(world));
    },
  },
  ...SUBSCRIBERS,
];
