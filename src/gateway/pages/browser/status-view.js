import { showFigures, toCount } from './status-figures.js';
import { toStatus } from './status-metrics.js';
import { addStatus, withGrowth } from './status-samples.js';

const DATABASE_STATES = {
  ready: ['good', 'ready'],
  'read-only': ['bad', 'does not accept writes'],
  unreachable: ['bad', 'not responding'],
};

const $ = (id) => document.querySelector(`#${id}`);

function toBadge(kind, ...content) {
  const badge = document.createElement('span');
  badge.className = `badge ${kind}`;
  badge.append(...content);
  return badge;
}

function showFact(id, value, ...note) {
  $(id).textContent = value;
  $(`${id}-note`).replaceChildren(...note);
}

function showDatabase({ embedded, state }) {
  const place = embedded ? 'embedded ' : '';
  showFact('database', 'PostgreSQL', place, toBadge(...DATABASE_STATES[state]));
}

/** Shows counts by label: their growth since the first reading, and their totals. */
function showCounts(section, label, firsts, counts) {
  const body = document.createElement('tbody');
  for (const { [label]: name, growth, total } of withGrowth(label, firsts, counts)) {
    const row = body.insertRow();
    const head = row.appendChild(document.createElement('th'));
    head.scope = 'row';
    // A code may wrap after its underscores.
    for (const part of name.split(/(?<=_)/)) head.append(part, document.createElement('wbr'));
    row.insertCell().textContent = toCount(growth);
    row.insertCell().textContent = toCount(total);
  }
  const shown = section.querySelector('tbody');
  // Unchanged rows stay in place, so that selected text stays selected.
  if (!shown.isEqualNode(body)) shown.replaceWith(body);
  section.querySelector('.table').hidden = counts.length === 0;
  section.querySelector('.none').hidden = counts.length > 0;
}

/** Returns the badge that shows how long a deprecated operation will still work. */
function toEnd({ sunset, daysLeft, enforced }) {
  if (sunset === undefined) return toBadge('end', 'no sunset date');
  const day = document.createElement('time');
  day.textContent = sunset;
  const text =
    daysLeft > 0
      ? `${toCount(daysLeft)} ${daysLeft === 1 ? 'day' : 'days'} left: ${enforced ? 'stops' : 'may stop'} working on `
      : `${enforced ? 'stopped working on' : 'past its sunset date of'} `;
  return toBadge(daysLeft > 30 ? 'end deprecated' : 'end bad', text, day);
}

function showDeprecated(firsts, items) {
  for (const [index, section] of document.querySelectorAll('#deprecated section').entries()) {
    section.querySelector('.end').replaceWith(toEnd(items[index]));
    showCounts(section, 'caller', firsts[index].callers, items[index].callers);
  }
}

/** Shows the content of /metrics. */
export function show(metrics) {
  const status = toStatus(metrics, JSON.parse($('status').dataset.facts));
  const { version, node, startedAt, requests, errors, deprecated } = status;
  const { first, samples } = addStatus(status);
  const start = new Date(startedAt);
  const [{ growth }] = withGrowth('', [first.requests], [requests]);
  showFact('version', version, `Node.js ${node.replace('v', '')}`);
  const day = start.toLocaleDateString('en-GB', { dateStyle: 'medium' });
  showFact('start', day, start.toLocaleTimeString('en-GB'));
  showDatabase(status.database);
  showFact('requests', toCount(growth), `${toCount(requests.total)} since startup`);
  showFigures(samples);
  showCounts($('errors'), 'code', first.errors, errors);
  showDeprecated(first.deprecated, deprecated);
}
