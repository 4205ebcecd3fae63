// Preloaded into a gateway, this runs at once on SIGUSR2 what it does every few minutes.
const MINUTE_MS = 60_000;

const setRealInterval = globalThis.setInterval;
globalThis.setInterval = (callback, ms, ...values) => {
  if (ms > MINUTE_MS) process.on('SIGUSR2', () => callback(...values));
  return setRealInterval(callback, ms, ...values);
};
