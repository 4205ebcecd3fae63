// Preloaded into a program, this delays about half of its file operations, so that other programs can
// overtake it between any two of them.
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';

const SLOW_MS = 1000;

for (const name of ['mkdir', 'open', 'realpath', 'rm', 'stat', 'writeFile']) {
  const run = fs[name];
  fs[name] = async (...args) => {
    if (Math.random() < 0.5) await sleep(SLOW_MS);
    return run(...args);
  };
}
syncBuiltinESMExports();
