import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { expect, it } from 'vitest';

it('a short soak of the gateway finds no violation', async () => {
  const args = ['test/soak/main.ts', '--minutes', '0.4'];
  const { stdout } = await promisify(execFile)('node_modules/.bin/tsx', args);
  expect(stdout).toMatch(/ [1-9]\d* responses, .* 0 violations$/m);
});
