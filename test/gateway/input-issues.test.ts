import { expect, it } from 'vitest';
import { z } from 'zod';

import { InvalidInput } from '../../src/gateway/contract/gateway-error.ts';
import { Id, parseArguments } from '../../src/gateway/contract/parse.ts';

const LINES = 10_000;

it('20,000 invalid values in a list are counted, and 100 reported, in less than three seconds of CPU time', () => {
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
  const { issues, issueCount } = thrown as InvalidInput;
  expect(issueCount).toBe(2 * LINES);
  expect(issues).toHaveLength(100);
  expect(issues.slice(-2)).toMatchObject([
    { path: ['input', '49', 'id'], code: 'INVALID_ID', line: 49 },
    { path: ['input', '49', 'name'], code: 'REQUIRED', line: 49 },
  ]);
  // Searching the list for each issue would take far longer.
  expect(user / 1000).toBeLessThan(3000);
});
