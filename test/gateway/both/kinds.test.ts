import sql, { raw } from 'sql-template-tag';
import { expect, it } from 'vitest';

import { KINDS } from '../../../src/gateway/kinds/kinds.ts';
import { concatenate } from '../../../src/gateway/operation/statement/json-sql.ts';
import { describeOnGateways, gateway } from '../../support/gateway.ts';

const { Sum } = KINDS;

describeOnGateways(() => {
  const TOO_LARGE = 2n ** 53n;
  it.each([0n, 2n ** 31n, TOO_LARGE - 1n, TOO_LARGE, 1n - TOO_LARGE, -TOO_LARGE, 2n ** 63n - 1n])(
    'a sum gets the same JSON form from PostgreSQL and from graphql-js, a number only if JavaScript has it: %s',
    async (value) => {
      const [row] = await gateway.db.query<{ json: string }>(
        sql`select ${raw(concatenate(Sum.json('value')))} as json from (select ${value}::bigint as value) as each`,
      );
      const isExact = BigInt(Number(value)) === value && Number.isSafeInteger(Number(value));
      expect(row?.json).toBe(isExact ? `${value}` : `"${value}"`);
      expect(JSON.stringify(Sum.scalar?.serialize(value))).toBe(row?.json);
    },
  );

  it.each([
    ['DateTime', '0044-03-15T12:00:00+00:00 BC'],
    ['DateTime', '9999-12-31T23:59:59-05:00'],
    ['Date', '0044-03-15 BC'],
    ['Date', '10000-01-01'],
    ['DateTime', 'infinity'],
    ['Date', '-infinity'],
  ] as const)('a recorded %s outside the years 1 to 9999 is no guess: %s', (name, text) => {
    expect(KINDS[name].fromText(text).getTime()).toBeNaN();
  });
});
