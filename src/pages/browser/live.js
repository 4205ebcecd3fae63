const MAX_SHOWN = 8;
// Also for screen readers, which read each new change.
const RENDER_MS = 1000;
const FIRST_RETRY_MS = 2000;
const MAX_RETRY_MS = 60_000;

const words = import('/assets/live-words.js');
const list = document.querySelector('#changes');
const subscriptions = list.dataset.subscriptions.split(' ');
const state = document.querySelector('#live-state');
const note = document.querySelector('#live-note');
const button = document.querySelector('#live-pause');

/** The changes to show, the newest first, and the element of each by its cursor. */
let changes = [];
const elements = new Map();

let socket;
let isPaused = false;
let retryMs = FIRST_RETRY_MS;
let retryTimer;
let renderTimer;
let renderedAt = -Infinity;

function report(text) {
  // A screen reader reads it again only if it has changed.
  if (state.textContent !== text) state.textContent = text;
}

function createItem(change, { toTime, toWords }) {
  const item = document.createElement('li');
  // What the page begins with is neither marked as new nor read.
  if (list.ariaLive) item.className = 'new';
  const time = document.createElement('time');
  time.dateTime = change.changedAt;
  time.textContent = toTime(change.changedAt);
  const text = document.createElement('span');
  text.textContent = toWords(change, changes);
  text.title = text.textContent;
  item.append(time, text);
  return item;
}

/** Adds what is new and removes what is too old: a screen reader reads only what was added. */
async function render() {
  const toText = await words;
  renderTimer = undefined;
  renderedAt = performance.now();
  for (const [index, change] of changes.entries()) {
    const item = elements.get(change.cursor) ?? createItem(change, toText);
    elements.set(change.cursor, item);
    if (list.children[index] !== item) list.insertBefore(item, list.children[index] ?? null);
  }
  const shown = new Set(changes.map(({ cursor }) => cursor));
  for (const [cursor, item] of elements) {
    if (shown.has(cursor)) continue;
    item.remove();
    elements.delete(cursor);
  }
  note.textContent = changes.length === 0 ? 'There are none yet. The next one appears here.' : '';
  list.ariaLive = 'polite';
}

function show(newOnes) {
  const cursors = new Set(newOnes.map(({ cursor }) => cursor));
  const kept = changes.filter(({ cursor }) => !cursors.has(cursor));
  changes = [...newOnes, ...kept]
    .toSorted((a, b) => Date.parse(b.changedAt) - Date.parse(a.changedAt))
    .slice(0, MAX_SHOWN);
  const waitMs = Math.max(0, renderedAt + RENDER_MS - performance.now());
  renderTimer ??= setTimeout(() => void render(), waitMs);
}

/** Follows the changes from now on with GraphQL over WebSocket: the last ones, and then those after them. */
async function connect() {
  clearTimeout(retryTimer);
  if (socket || isPaused || document.hidden) return;
  const url = new URL('/graphql', location.href);
  url.protocol = url.protocol.replace('http', 'ws');
  const opened = new WebSocket(url, 'graphql-transport-ws');
  socket = opened;
  report('Connecting');
  const { FIELDS } = await words;
  const send = (message) => opened.send(JSON.stringify(message));
  const subscribe = (id, query, variables) =>
    send({ id, type: 'subscribe', payload: { query: `${query} ${FIELDS}`, variables } });
  const follow = (after) => {
    for (const field of subscriptions) {
      const query = `subscription($after: String) { change: ${field}(after: $after) { ...Shown } }`;
      subscribe(field, query, { after });
    }
    retryMs = FIRST_RETRY_MS;
    report('Live');
    button.hidden = false;
  };
  const receive = ({ id, type, payload }) => {
    if (type === 'ping') return send({ type: 'pong' });
    if (type === 'connection_ack') {
      const fields = 'pageInfo { endCursor } nodes { ...Shown }';
      return subscribe('last', `query($last: Int) { changes(last: $last) { ${fields} } }`, {
        last: MAX_SHOWN,
      });
    }
    if (type === 'next' && payload.data?.changes) {
      show(payload.data.changes.nodes.toReversed());
      return follow(payload.data.changes.pageInfo.endCursor);
    }
    if (type === 'next' && payload.data?.change) return show([payload.data.change]);
    // The gateway has ended a subscription: with the next connection all of them begin again.
    return id === 'last' && type === 'complete' ? undefined : opened.close();
  };
  opened.addEventListener('message', ({ data }) => receive(JSON.parse(data)));
  opened.addEventListener('close', () => {
    if (socket !== opened) return;
    socket = undefined;
    report('Reconnecting');
    retryTimer = setTimeout(() => void connect(), retryMs * (0.5 + Math.random()));
    retryMs = Math.min(2 * retryMs, MAX_RETRY_MS);
  });
  const begin = () => send({ type: 'connection_init' });
  if (opened.readyState === WebSocket.OPEN) begin();
  else opened.addEventListener('open', begin);
}

function disconnect(reason) {
  clearTimeout(retryTimer);
  const closing = socket;
  socket = undefined;
  closing?.close();
  report(reason);
}

button.addEventListener('click', () => {
  isPaused = !isPaused;
  button.textContent = isPaused ? 'Continue' : 'Pause';
  if (isPaused) disconnect('Paused');
  else void connect();
});

// Nobody looks at a hidden page.
document.addEventListener('visibilitychange', () => {
  if (document.hidden) disconnect('');
  else void connect();
});

void connect();
