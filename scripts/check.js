// Runs the type checker, the linter, the formatter and knip in parallel. On two cores, that takes five seconds instead
// of eight.
import { spawn } from 'node:child_process';

// `npm run test:clients` and `npm run test:conformance` check these files, after installing their dependencies.
const OTHERS =
  "--ignore-pattern 'docs/examples/**/*.ts*' --ignore-pattern test/clients --ignore-pattern test/conformance";
const CHECKS = ['tsc', `oxlint ${OTHERS}`, 'oxfmt --check', 'knip --cache'];
// tsc and oxlint's type checker are Go programs that finish before garbage collection would pay off.
// oxlint-disable-next-line node/no-process-env -- not the gateway's
const env = { ...process.env, GOGC: 'off' };

for (const check of CHECKS) {
  spawn(check, { shell: true, stdio: 'inherit', env }).once('exit', (code) => {
    if (code !== 0) process.exitCode = 1;
  });
}
