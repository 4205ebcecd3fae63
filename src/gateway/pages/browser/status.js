import { show } from './status-view.js';
import { watchToken } from './token.js';

const UPDATE_MS = 5000;
const TIMEOUT_MS = 10_000;

const $ = (id) => document.querySelector(`#${id}`);

let timer;
let isUpdating = false;
/**
 * Whether the page is waiting for a token: it has no token yet, or the last one was rejected. While the page waits, it
 * sends no requests.
 */
let isRejected = $('token') !== null;

function report(text) {
  // The text is set only when it changes, because screen readers read it each time it is set.
  if ($('state').textContent !== text) $('state').textContent = text;
}

const readToken = watchToken(() => {
  isRejected = !readToken();
  void update();
});

async function load() {
  const token = readToken();
  const response = await fetch('metrics', {
    headers: token ? { Authorization: `Bearer ${token}` } : {},
    cache: 'no-store',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const { status, ok } = response;
  if (ok) {
    show(await response.text());
    report('');
    $('status').hidden = false;
    return;
  }
  const error = await response.json().catch(() => undefined);
  report(`${status}: ${error?.message ?? 'The gateway did not send its metrics.'}`);
  isRejected = [401, 403].includes(status);
  if (isRejected) $('status').hidden = true;
}

/** Updates the page now, and every five seconds while it is visible. */
async function update() {
  clearTimeout(timer);
  if (isUpdating || document.hidden || isRejected) return;
  isUpdating = true;
  try {
    await load();
  } catch {
    report('The gateway is not responding. The figures below may be outdated.');
  } finally {
    isUpdating = false;
    timer = setTimeout(() => void update(), UPDATE_MS);
  }
}

document.addEventListener('visibilitychange', () => void update());

if (isRejected) report('In the field above, enter a token that has the scope "metrics".');
else void update();
