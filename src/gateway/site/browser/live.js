const UPDATE_MS = 2000;
const TIMEOUT_MS = 10_000;

const time = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
const date = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });

const list = document.querySelector('#changes');
const state = document.querySelector('#live-state');
const note = document.querySelector('#live-note');
const button = document.querySelector('#live-pause');

/** The elements of the changes shown, by their cursors. */
let items = new Map();
let isPaused = false;
let isUpdating = false;
let timer;

function report(text) {
  // The text is set only when it changes, because screen readers read it each time it is set.
  if (state.textContent !== text) state.textContent = text;
}

/** Returns the time of a change made today, or the date of an earlier change. */
function toTime(changedAt) {
  const at = new Date(changedAt);
  const isToday = at.toDateString() === new Date().toDateString();
  return isToday ? time.format(at) : date.format(at);
}

const KINDS = { CREATED: 'was created', UPDATED: 'has changed', DELETED: 'was deleted' };

/** Splits a name in camel case into words. */
const split = (name) => name.replaceAll(/(?<!^)[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/**
 * Describes a change: `Order 43 (Rex) was created: quantity 2`, `Book 7 (Emma): price 12`. The name in parentheses is that
 * of the object, or of the one to which it refers. For types from later releases, the query does not select the row.
 */
function toWords({ type, kind, ...rows }) {
  const name = type.replace(/Change$/, '');
  const [before, after] = [rows[`${name}Before`], rows[`${name}After`]];
  const { id, related, ...columns } = after ?? before ?? {};
  const called = columns.name ?? related?.name;
  const object = [split(name), id, called && `(${called})`].filter(Boolean).join(' ');
  const isShown = (field) =>
    before ? before[field] !== columns[field] : typeof columns[field] === 'number';
  const values = Object.keys(after ? columns : {})
    .filter(isShown)
    .map((field) => `${split(field)} ${columns[field] ?? 'removed'}`);
  const isUpdate = before && values.length > 0;
  const event = isUpdate ? object : `${object} ${KINDS[kind] ?? 'has changed'}`;
  return [event, values.join(', ')].filter(Boolean).join(': ');
}

function createItem(change) {
  const item = document.createElement('li');
  const changedAt = document.createElement('time');
  changedAt.dateTime = change.changedAt;
  changedAt.textContent = toTime(change.changedAt);
  const text = document.createElement('span');
  text.textContent = toWords(change);
  item.append(changedAt, text);
  return item;
}

async function load() {
  const response = await fetch('graphql', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ query: list.dataset.query }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const { data } = await response.json();
  const changes = data.changes.nodes.toReversed();
  const before = items;
  items = new Map();
  // Items that are still shown stay in place, so that a screen reader reads only the new items.
  for (const [index, change] of changes.entries()) {
    const { cursor } = change;
    const item = before.get(cursor) ?? createItem(change);
    items.set(cursor, item);
    if (list.children[index] !== item) list.insertBefore(item, list.children[index] ?? null);
  }
  for (const [cursor, item] of before) if (!items.has(cursor)) item.remove();
  note.textContent =
    changes.length === 0 ? 'There are no changes yet. New changes will appear here.' : '';
  // This is set only now, so that screen readers skip the initial items.
  list.ariaLive = 'polite';
}

/** Updates the list now and every two seconds, while the page is visible and not paused. */
async function update() {
  clearTimeout(timer);
  if (isUpdating || isPaused || document.hidden) return;
  isUpdating = true;
  try {
    await load();
    report('Live');
    button.hidden = false;
  } catch {
    report('No response');
  } finally {
    isUpdating = false;
    timer = setTimeout(() => void update(), UPDATE_MS);
  }
}

button.addEventListener('click', () => {
  isPaused = !isPaused;
  button.textContent = isPaused ? 'Continue' : 'Pause';
  report(isPaused ? 'Paused' : 'Live');
  void update();
});

document.addEventListener('visibilitychange', () => void update());

void update();
