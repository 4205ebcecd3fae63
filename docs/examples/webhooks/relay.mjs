// Sends changes of the store as webhooks (https://www.standardwebhooks.com). README.md has the settings and the guarantees.
import { createHmac } from 'node:crypto';
import { existsSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

// Edit this query and `toEvent` to send other events. Do not filter by type: a cursor that does not move with every change
// expires while only others are made.
const CHANGES = `query Changes($after: String) {
  changes(first: 100, after: $after) {
    pageInfo { hasNextPage endCursor }
    nodes {
      cursor
      changedAt
      ... on PetChange { petId before { status } after { name status categoryId } }
    }
  }
}`;

/** Returns the event to send for a change; undefined if there is none. */
function toEvent({ petId, before, after }) {
  const becameSold = before?.status !== 'SOLD' && after?.status === 'SOLD';
  if (!becameSold) return undefined;
  return { type: 'pet.sold', data: { petId, name: after.name, categoryId: after.categoryId } };
}

const LAST_CURSOR = 'query LastCursor { changes(last: 1) { pageInfo { endCursor } } }';
const POLL_MS = 1000;
const TIMEOUT_MS = 15_000;
const MAX_BACKOFF_MS = 60_000;
const MAX_RETRY_AFTER_MS = 3_600_000;
// After these exit codes, a restart does not help.
const CURSOR_UNUSABLE = 65;
const RECEIVER_GONE = 69;
const WRONG_SETTINGS = 78;

const { GATEWAY_URL, WEBHOOK_URL, WEBHOOK_SECRET = '', CURSOR_FILE, ...env } = process.env;

function exit(code, message) {
  console.error(message);
  process.exit(code);
}

function requireSetting(isValid, message) {
  if (!isValid) exit(WRONG_SETTINGS, message);
}

// With a password, fetch fails, and quotes the URL.
const isUrl = (text) => /^https?:\/\/[^/@]+(?:\/|$)/.test(text) && URL.canParse(text);

const [, encoded = ''] = /^whsec_(.*)$/.exec(WEBHOOK_SECRET) ?? [];
const key = Buffer.from(encoded, 'base64');

requireSetting(isUrl(GATEWAY_URL), 'GATEWAY_URL must be like http://127.0.0.1:4000/graphql.');
requireSetting(isUrl(WEBHOOK_URL), "WEBHOOK_URL must be the receiver's URL, without a password.");
requireSetting(
  key.toString('base64') === encoded && key.length >= 24 && key.length <= 64,
  'WEBHOOK_SECRET must be whsec_ and then 24 to 64 bytes in Base64.',
);
requireSetting(
  CURSOR_FILE && existsSync(dirname(CURSOR_FILE)),
  'CURSOR_FILE must be the path of a file; its folder must exist.',
);
requireSetting(!env.TOKEN || !env.TOKEN_FILE, 'Only one of TOKEN and TOKEN_FILE can be set.');

// A signal ends a pause, but not a request: an event that the receiver has accepted must be saved as sent.
const stopping = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => stopping.abort());

const pause = (ms) => sleep(ms, undefined, { signal: stopping.signal }).catch(() => undefined);

/** Repeats an attempt until it succeeds, unless the relay is stopping. */
async function repeat(name, attempt) {
  for (let failures = 0; ; failures += 1) {
    if (stopping.signal.aborted) process.exit(0);
    try {
      return await attempt();
    } catch (error) {
      const backoffMs = Math.min(1000 * 2 ** failures, MAX_BACKOFF_MS) * (0.5 + Math.random() / 2);
      const pauseMs = Math.max(backoffMs, error.retryAfterMs ?? 0);
      const reason = error.cause?.message || error.cause?.code || error.message;
      console.error(`${name}: ${reason}. Trying again in ${Math.ceil(pauseMs / 1000)} s.`);
      await pause(pauseMs);
    }
  }
}

function toError({ status, headers }, message = `status ${status}`) {
  const retryAfter = headers.get('retry-after') ?? '';
  const ms = /^\d+$/.test(retryAfter) ? 1000 * retryAfter : Date.parse(retryAfter) - Date.now();
  return Object.assign(new Error(message), { retryAfterMs: Math.min(ms || 0, MAX_RETRY_AFTER_MS) });
}

const post = (url, body, headers) =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });

/** Reads the token for each request, because another program may renew it. */
function readToken() {
  const token = env.TOKEN_FILE ? readFileSync(env.TOKEN_FILE, 'utf8').trim() : (env.TOKEN ?? '');
  // Otherwise, fetch would quote it in an error.
  if (!/^[\w.~+/=-]*$/.test(token)) throw new Error('the token has invalid characters');
  return token;
}

/** Returns a page of changes. */
async function read(query, after) {
  const token = readToken();
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  const response = await post(
    GATEWAY_URL,
    JSON.stringify({ query, variables: { after } }),
    headers,
  );
  const { data, errors } = await response.json().catch(() => ({}));
  const { message, extensions: { code } = {} } = errors?.[0] ?? {};
  if (code === 'CURSOR_EXPIRED' || code === 'INVALID_CURSOR') {
    const effect = `can't continue after the cursor in ${CURSOR_FILE}. Changes may have been missed`;
    exit(CURSOR_UNUSABLE, `${code}: ${effect}: see README.md.`);
  }
  if (errors || !data) throw toError(response, message && `${code}: ${message}`);
  return data.changes;
}

async function deliver(id, body) {
  // The time of this attempt, because receivers reject old ones.
  const timestamp = `${Math.floor(Date.now() / 1000)}`;
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  const response = await post(WEBHOOK_URL, body, {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  });
  await response.body?.cancel();
  if (response.status === 410) exit(RECEIVER_GONE, 'The receiver (410) wants no more webhooks.');
  if (!response.ok) throw toError(response);
  console.log(`Sent ${id}`);
}

const readCursor = () => (existsSync(CURSOR_FILE) ? readFileSync(CURSOR_FILE, 'utf8') : undefined);

const folder = openSync(dirname(CURSOR_FILE));
let cursor = readCursor();

/** Writes the cursor to a new file, which replaces the old one at once, even if the power fails. */
function save(next) {
  if (readCursor() !== cursor) {
    exit(WRONG_SETTINGS, `Another program changed ${CURSOR_FILE}: only one relay can use it.`);
  }
  writeFileSync(`${CURSOR_FILE}.new`, next, { flush: true });
  renameSync(`${CURSOR_FILE}.new`, CURSOR_FILE);
  fsyncSync(folder);
  cursor = next;
}

// A new relay starts after the newest change. In an empty log, no change has a cursor: an empty file means the start.
save(cursor?.trim() ?? (await repeat('Gateway', () => read(LAST_CURSOR))).pageInfo.endCursor ?? '');
console.log(`Starting after ${cursor || 'no change: with the oldest that is kept'}`);

// Pages serve old and new changes alike. A subscription would save a request a second, but needs code to resume it.
for (;;) {
  const { nodes, pageInfo } = await repeat('Gateway', () => read(CHANGES, cursor || null));
  for (const change of nodes) {
    const event = toEvent(change);
    if (!event) continue;
    // The same in each attempt; with the type, in case another relay sends another event for this change.
    const id = `${event.type.replaceAll('.', '_')}_${change.cursor}`;
    const body = JSON.stringify({ ...event, timestamp: change.changedAt });
    await repeat('Receiver', () => deliver(id, body));
    save(change.cursor);
  }
  if (nodes.length > 0 && pageInfo.endCursor !== cursor) save(pageInfo.endCursor);
  if (!pageInfo.hasNextPage) await pause(POLL_MS);
}
