import { PLOTS, toFigure } from './status-figures.js';
import { countOf, element, toCount, toLargestUnit, toSpan } from './status-words.js';

const time = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
const MONTH_MS = 30 * 86_400_000;
const dateTime = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' });

const toBadge = (text, kind) => element('span', { className: `badge ${kind}`, textContent: text });

const DATABASE_STATES = {
  ready: ['ready', 'good'],
  'read-only': ['accepts no writes', 'bad'],
  unreachable: ['does not respond', 'bad'],
};

function toProcesses({ configured, reporting }) {
  if (reporting === 0) return ['–', 'first figures within ten seconds'];
  if (configured === 1) return ['1', 'without workers'];
  const isComplete = reporting >= configured;
  const state = isComplete ? toBadge('all report', 'good') : toBadge('some do not report', 'bad');
  return [`${reporting} of ${countOf(configured, 'worker')}`, state];
}

function toDatabase({ kind, version, state }) {
  // Distributions append their own version in parentheses.
  const [number = ''] = version?.split(' ') ?? [];
  return [
    `PostgreSQL ${number}`,
    kind === 'embedded' ? 'embedded ' : '',
    toBadge(...DATABASE_STATES[state]),
  ];
}

function toFacts({ version, node, startedAt, at, processes, database, requests }) {
  const start = new Date(startedAt);
  const facts = [
    ['Version', version, `Node.js ${node.replace('v', '')}`],
    ['Running for', toSpan(Date.parse(at) - start), `since ${dateTime.format(start)}`],
    ['Processes', ...toProcesses(processes)],
    ['Database', ...toDatabase(database)],
    [
      'Requests, last 15 minutes',
      toCount(requests.recent),
      `${toCount(requests.total)} since the start`,
    ],
  ];
  return facts.map(([name, value, ...details]) =>
    element(
      'div',
      {},
      element('dt', { textContent: name }),
      element('dd', {}, value),
      element('dd', { className: 'detail' }, ...details),
    ),
  );
}

/** Lets a code break after its underscores. */
const withBreaks = (name) =>
  name.split(/(?<=_)/).flatMap((part, index) => (index > 0 ? [element('wbr'), part] : part));

function toTable(head, rows) {
  const columns = head.map((textContent) => element('th', { scope: 'col', textContent }));
  const body = rows.map(([name, ...counts]) =>
    element(
      'tr',
      {},
      element('th', { scope: 'row' }, ...withBreaks(name)),
      ...counts.map((count) => element('td', { textContent: toCount(count) })),
    ),
  );
  const table = element(
    'table',
    {},
    element('thead', {}, element('tr', {}, ...columns)),
    element('tbody', {}, ...body),
  );
  return element('div', { className: 'table' }, table);
}

const COUNTS = ['Last 15 min', 'Since the start'];
const toSentence = (textContent) => element('p', { textContent });

const toErrors = (errors) =>
  errors.length === 0
    ? [toSentence('None since the start.')]
    : [
        toTable(
          ['Code', ...COUNTS],
          errors.map(({ code, recent, total }) => [code, recent, total]),
        ),
      ];

/** Says until when something deprecated works. */
function toEnd({ sunset, daysLeft, enforced }) {
  if (sunset === undefined) return toBadge('no sunset date', '');
  const text =
    daysLeft > 0
      ? `${countOf(daysLeft, 'day')} left: ${enforced ? 'stops' : 'may stop'} working on ${sunset}`
      : `${enforced ? 'stopped working on' : 'may stop working at any time since'} ${sunset}`;
  return toBadge(text, daysLeft > 30 ? 'deprecated' : 'bad');
}

/** Says that nobody called something, and whether that was long enough to trust it. */
const toNoCalls = (uptimeMs) =>
  toSentence(
    `No calls in the ${toLargestUnit(uptimeMs)} since the start.${
      uptimeMs < MONTH_MS ? ' Ask Prometheus for a longer time.' : ''
    }`,
  );

function toDeprecated(item, uptimeMs) {
  const { operation, deprecatedSince, successor, callers } = item;
  const badges = element(
    'p',
    { className: 'badges' },
    toBadge(`deprecated since ${deprecatedSince}`, ''),
    toEnd(item),
  );
  const instead =
    successor && element('p', {}, 'Instead: ', element('code', { textContent: successor }));
  const rows = callers.map(({ caller, recent, total }) => [caller, recent, total]);
  return element(
    'section',
    {},
    element('h3', {}, element('code', { textContent: operation })),
    badges,
    ...(instead ? [instead] : []),
    rows.length === 0 ? toNoCalls(uptimeMs) : toTable(['Caller', ...COUNTS], rows),
  );
}

const shown = new Map();

/** Replaces the content of a part of the page if its data have changed. */
function replace(id, data, render) {
  const text = JSON.stringify(data);
  if (shown.get(id) === text) return;
  shown.set(id, text);
  document.querySelector(`#${id}`).replaceChildren(...render(data));
}

/** Shows the content of /status.json, with plots of `spanMs` milliseconds. */
export function show(status, spanMs) {
  const { samples, sampleSeconds, errors, deprecated, at, startedAt } = status;
  const last = samples.at(-1);
  const plots = last ? PLOTS.filter(({ isShown }) => isShown?.(last) ?? true) : [];
  document.querySelector('#facts').replaceChildren(...toFacts(status));
  replace('plots', { samples, sampleSeconds }, (data) =>
    plots.map((plot) => toFigure(plot, data, spanMs)),
  );
  document.querySelector('#plots').dataset.count = plots.length;
  replace('errors', errors, toErrors);
  const uptimeMs = Date.parse(at) - Date.parse(startedAt);
  // Not again every five seconds: only the largest unit of the time is shown.
  replace('deprecated', [deprecated, toLargestUnit(uptimeMs)], ([items]) =>
    items.map((item) => toDeprecated(item, uptimeMs)),
  );
  document.querySelector('#updated').textContent = `Last update: ${time.format(new Date(at))}`;
}
