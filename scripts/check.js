// Runs the type checker, the linter, the formatter and knip side by side: five seconds on two
// cores, eight one after the other.
import { spawn } from 'node:child_process';

// `npm run test:clients` installs what the code in these folders imports, and checks it.
const CLIENTS = '--ignore-pattern docs/examples --ignore-pattern test/clients';
const CHECKS = ['tsc', `oxlint ${CLIENTS}`, 'oxfmt --check', 'knip --cache'];
// tsc and oxlint's types are Go programs, which end before collecting their garbage would pay.
// oxlint-disable-next-line node/no-process-env -- not the gateway's
const env = { ...process.env, GOGC: 'off' };

for (const check of CHECKS) {
  spawn(check, { shell: true, stdio: 'inherit', env }).once('exit', (code) => {
    if (code !== 0) process.exitCode = 1;
  });
}
