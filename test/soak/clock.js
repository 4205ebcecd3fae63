// Preloaded into the gateway, this shifts the time of day that JavaScript sees, as an operator
// or NTP does. The monotonic clock of the timers does not change, as in reality.
import { readFileSync, watchFile } from 'node:fs';

const FILE = new URL(import.meta.url).searchParams.get('file');
const RealDate = Date;
let shiftMs = 0;
const readShift = () => {
  shiftMs = Number(readFileSync(FILE, 'utf8'));
};
readShift();
// Not by a signal: it would end a process that does not listen for it yet.
watchFile(FILE, { interval: 100, persistent: false }, readShift);

const now = () => RealDate.now() + shiftMs;
globalThis.Date = new Proxy(RealDate, {
  apply: () => new RealDate(now()).toString(),
  construct: (target, values, made) =>
    Reflect.construct(target, values.length === 0 ? [now()] : values, made),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});
RealDate.prototype.constructor = globalThis.Date;
