import { describe, expect, it } from 'vitest';

import { callerKeyOf } from '../../src/gateway/auth/caller.ts';

const keyOf = (remoteAddress: string, subject?: string): string =>
  callerKeyOf({ subject }, { socket: { remoteAddress } });

describe('a caller', () => {
  it.each([
    ['192.0.2.1', '192.0.2.2', false],
    ['::ffff:192.0.2.1', '::ffff:192.0.2.2', false],
    ['2001:db8:0:1::1', '2001:db8:0:2::1', false],
    // The first 64 bits end, or start, with zeros.
    ['2001:db8::1', '2001:db8:0:1:1::1', false],
    ['::1', '::1:0:0:0:0:1', false],
    ['2001:db8::1', '2001:db8:0:0:1:2:3:4', true],
    ['2001:db8:0:1::', '2001:db8:0:1::ffff', true],
    ['::1', '::2', true],
  ])('without a token is its IPv4 address, or 64 bits of IPv6: %s, %s', (one, other, isSame) => {
    expect(keyOf(one) === keyOf(other)).toBe(isSame);
  });

  it('with a token is identified by its subject', () => {
    expect(keyOf('192.0.2.1', 'ann')).toBe(keyOf('192.0.2.2', 'ann'));
    expect(keyOf('192.0.2.1', 'ann')).not.toBe(keyOf('192.0.2.1', 'bob'));
  });
});
