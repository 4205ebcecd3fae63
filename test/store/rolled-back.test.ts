import { expect, it } from 'vitest';

import { isRolledBack, OutcomeUnknown } from '../../src/database/errors.ts';

const reported = (severity: string, code: string): Error =>
  Object.assign(new Error('failed'), { severity, code });

it.each([
  // The severity is in the language of the server.
  ['FEHLER', 'P0001', true],
  ['ERROR', '45000', true],
  ['ERROR', '55P03', true],
  ['ERROR', '57014', true],
  // A pooler may report a lost server in this way.
  ['ERROR', '08006', false],
  ['ERROR', '08P01', false],
  ['ERROR', '40003', false],
  ['ERROR', '58030', false],
  ['ERROR', 'XX000', false],
  ['ВАЖНО', '57P01', false],
  ['FATAL', '25P04', false],
])('after the severity %s with SQLSTATE %s, a statement is certainly rolled back: %s', (...row) => {
  const [severity, code, expected] = row;
  expect(isRolledBack(reported(severity, code))).toBe(expected);
});

it('after an error that PostgreSQL has not reported, a statement may be committed', () => {
  const broken = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
  expect([broken, new OutcomeUnknown(broken), null].some(isRolledBack)).toBe(false);
});
