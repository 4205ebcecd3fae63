const UPDATE_MS = 5000;
const TIMEOUT_MS = 10_000;
// RFC 6750 §2.1
const TOKEN = /^[\w.~+/-]+=*$/;

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
  const isFirst = token === undefined;
  token = undefined;
  report(reason);
  $('status').hidden = true;
  $('token-form').hidden = false;
  if (!isFirst) $('token').focus();
}

async function load() {
  const response = await fetch('/status.json', {
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
  const { show } = await import('/assets/status-view.js');
  show(await response.json());
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
  token = $('token')
    .value.trim()
    .replace(/^Bearer /i, '');
  // A browser keeps the content of fields when it restores a page.
  $('token').value = '';
  if (!TOKEN.test(token)) return askForToken('This is not a token: it has other characters.');
  $('token-form').hidden = true;
  report('Loading.');
  void update();
});

document.addEventListener('visibilitychange', () => void update());

if ($('status').dataset.needsToken === 'true') askForToken('This gateway requires a token.');
else void update();
