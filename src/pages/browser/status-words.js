const MEGABYTE = 1_000_000;
const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
];

const digits = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });
const whole = new Intl.NumberFormat('en');

export const toCount = (number) => whole.format(number);
export const toPercent = (share) => `${digits.format(share * 100)} %`;
export const toMegabytes = (bytes) => `${digits.format(bytes / MEGABYTE)} MB`;
export const toRate = (number) => `${digits.format(number)} a second`;

export const countOf = (number, noun) => `${toCount(number)} ${noun}${number === 1 ? '' : 's'}`;

export function toDuration(ms) {
  if (ms === null) return '–';
  return ms < 1000 ? `${digits.format(ms)} ms` : `${digits.format(ms / 1000)} s`;
}

/** Returns the index of the largest unit of a time. */
function findUnit(ms) {
  const found = UNITS.findIndex(([, unitMs]) => ms >= unitMs);
  return found < 0 ? UNITS.length - 1 : found;
}

/** Writes a time as whole numbers of its largest unit. */
export function toLargestUnit(ms) {
  const [name, unitMs] = UNITS[findUnit(ms)];
  return countOf(Math.floor(ms / unitMs), name);
}

/** Writes a long time as its two largest units. */
export function toSpan(ms) {
  const index = findUnit(ms);
  const [, unitMs] = UNITS[index];
  const next = UNITS[index + 1];
  const rest = next ? Math.floor((ms % unitMs) / next[1]) : 0;
  const text = toLargestUnit(ms);
  return rest > 0 ? `${text} ${countOf(rest, next[0])}` : text;
}

/** Creates an element with attributes; `className` and `textContent` as in HTML. */
export function element(name, attributes = {}, ...children) {
  const { className, textContent, ...others } = attributes;
  const created = document.createElement(name);
  if (className) created.className = className;
  if (textContent !== undefined) created.textContent = textContent;
  for (const [key, value] of Object.entries(others)) created.setAttribute(key, value);
  created.append(...children);
  return created;
}
