import { show } from './status-view.js';
import { takeToken } from './token.js';

const UPDATE_MS = 5000;
const TIMEOUT_MS = 10_000;

// Only here: neither localStorage nor sessionStorage, which other scripts and later users could read.
let token;
let timer;
let isUpdating = false;

const $ = (id) => document.querySelector(`#${id}`);

function report(text) {
  // A screen reader reads it again only if it has changed.
  if ($('state').textContent !== text) $('state').textContent = text;
}

function askForToken(reason) {
  token = undefined;
  report(reason);
  $('status').hidden = true;
  $('token-form').hidden = false;
  $('token').focus();
}

async function load() {
  const response = await fetch('/metrics', {
    headers: token === undefined ? {} : { Authorization: `Bearer ${token}` },
    cache: 'no-store',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (!response.ok) {
    const { status } = response;
    const error = await response.json().catch(() => undefined);
    const message = error?.message ?? `The gateway responded with ${status}.`;
    return [401, 403].includes(status) ? askForToken(`${status}: ${message}`) : report(message);
  }
  show(await response.text());
  report('');
  // The field that had the focus is hidden.
  if (token !== undefined && $('status').hidden) document.querySelector('h1').focus();
  $('token-form').hidden = true;
  $('status').hidden = false;
}

/** Updates the page now, and again after five seconds as long as it is visible. */
async function update() {
  clearTimeout(timer);
  if (isUpdating || document.hidden || !$('token-form').hidden) return;
  isUpdating = true;
  try {
    await load();
  } catch {
    report('The gateway does not respond. The figures below may be old.');
  } finally {
    isUpdating = false;
    timer = setTimeout(() => void update(), UPDATE_MS);
  }
}

$('token-form').addEventListener('submit', (event) => {
  event.preventDefault();
  token = takeToken($('token'));
  if (!token) return askForToken('This is not a token: it has other characters.');
  $('token-form').hidden = true;
  report('Loading.');
  void update();
});

document.addEventListener('visibilitychange', () => void update());

if ($('status').dataset.needsToken === 'true') askForToken('This gateway requires a token.');
else void update();
