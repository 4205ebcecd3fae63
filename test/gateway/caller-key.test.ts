import { describe, expect, it } from 'vitest';

import { callerKeyOf } from '../../src/gateway/auth/caller.ts';

const keyOf = (remoteAddress: string, subject?: string): string =>
  callerKeyOf({ subject }, { socket: { remoteAddress } });

describe('a caller', () => {
  it.each([
    ['an IPv4 address', '192.0.2.1', '192.0.2.2'],
    ['an IPv4 address over IPv6', '::ffff:192.0.2.1', '::ffff:192.0.2.2'],
    ['the first 64 bits of an IPv6 address', '2001:db8:0:1::1', '2001:db8:0:2::1'],
    ['64 bits that end with zeros', '2001:db8::1', '2001:db8:0:1:1::1'],
    ['64 bits that start with zeros', '::1', '::1:0:0:0:0:1'],
  ])('without a token is identified by %s', (_what, address, other) => {
    expect(keyOf(address)).not.toBe(keyOf(other));
  });

  it.each([
    ['2001:db8::1', '2001:db8:0:0:1:2:3:4'],
    ['2001:db8:0:1::', '2001:db8:0:1::ffff'],
    ['::1', '::2'],
  ])('without a token is the same in one IPv6 network: %s, %s', (address, other) => {
    expect(keyOf(address)).toBe(keyOf(other));
  });

  it('with a token is identified by its subject', () => {
    expect(keyOf('192.0.2.1', 'ann')).toBe(keyOf('192.0.2.2', 'ann'));
    expect(keyOf('192.0.2.1', 'ann')).not.toBe(keyOf('192.0.2.1', 'bob'));
  });
});
