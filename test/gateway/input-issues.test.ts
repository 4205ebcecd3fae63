import { expect, it } from 'vitest';
import { z } from 'zod';

import { InvalidInput } from '../../src/gateway/contract/gateway-error.ts';
import { Id, parseArguments } from '../../src/gateway/contract/parse.ts';

const LINES = 10_000;

it('all 20,000 invalid values in a list are reported in less than three seconds of CPU time', () => {
  const input = Array.from({ length: LINES }, () => ({ id: 'x', name: null }));
  const rule = z.object({ input: z.array(z.object({ id: Id, name: z.string() })) });
  const start = process.cpuUsage();
  let thrown: unknown;
  try {
    parseArguments(rule, { input });
  } catch (error) {
    thrown = error;
  }
  const { user } = process.cpuUsage(start);
  expect(thrown).toBeInstanceOf(InvalidInput);
  const { issues } = thrown as InvalidInput;
  expect(issues).toHaveLength(2 * LINES);
  expect(issues.slice(-2)).toMatchObject([
    { path: ['input', `${LINES - 1}`, 'id'], code: 'INVALID_ID', line: LINES - 1 },
    { path: ['input', `${LINES - 1}`, 'name'], code: 'REQUIRED', line: LINES - 1 },
  ]);
  // Searching the list for each issue would take far longer.
  expect(user / 1000).toBeLessThan(3000);
});
