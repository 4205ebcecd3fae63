// Preloaded into a program, this delays about half of its file operations by up to SLOW_MS, so that
// other programs can overtake it between any two of them.
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';

// oxlint-disable-next-line no-process-env -- a preload has nothing else to read
const slowMs = Number(process.env.SLOW_MS);

for (const name of ['mkdir', 'open', 'realpath', 'rm', 'stat', 'writeFile']) {
  const run = fs[name];
  fs[name] = async (...args) => {
    if (Math.random() < 0.5) await sleep(Math.random() * slowMs);
    return run(...args);
  };
}
syncBuiltinESMExports();
