import { GraphQLInt, GraphQLString, GraphQLBoolean, type GraphQLScalarType } from 'graphql';
import sql, { raw } from 'sql-template-tag';
import { describe, expect, it } from 'vitest';

import type { Kind } from '../../../src/gateway/kinds/kind.ts';
import { KINDS } from '../../../src/gateway/kinds/kinds.ts';
import { concatenate } from '../../../src/gateway/operation/statement/json-sql.ts';
import { ID } from '../../../src/gateway/schema/scalars.ts';
import { describeOnGateways, gateway } from '../../support/gateway.ts';
import { SAMPLES } from '../../support/samples.ts';

const BUILT_IN: Readonly<Record<string, GraphQLScalarType>> = {
  ID,
  Int: GraphQLInt,
  String: GraphQLString,
  Boolean: GraphQLBoolean,
};

/** Returns the scalar type of a kind, and its sample values, parsed as input. */
function valuesOf({ graphql, scalar, rule }: Kind): { type: GraphQLScalarType; values: unknown[] } {
  const type = scalar ?? BUILT_IN[graphql];
  if (!type) throw new Error(`${graphql} has no scalar.`);
  const accepts = rule({ maxLength: 255, isNullable: false });
  const samples = SAMPLES[graphql];
  if (!samples) throw new Error(`${graphql} has no samples in test/support/samples.ts.`);
  return { type, values: samples.map((sample) => accepts.parse(type.parseValue(sample))) };
}

describeOnGateways(() => {
  const { Sum, ...ofColumns } = KINDS;
  describe.each(Object.entries<Kind>(ofColumns))('values of the kind %s', (_name, kind) => {
    const { type, values } = valuesOf(kind);
    const parameter = (value: unknown) =>
      sql`${value === null ? null : kind.toParameter(value)}${raw(`::${kind.sqlType}`)}`;
    const read = async (value: unknown, expression: string): Promise<unknown> => {
      const [row] = await gateway.db.query<{ result: unknown }>(
        sql`select ${raw(expression)} as result from (select ${parameter(value)} as value) as each`,
      );
      return row?.result;
    };

    it.each(values)(
      'are unchanged when sent to PostgreSQL and read back, also from JSON as in the change log: %s',
      async (value) => {
        expect(await read(value, 'value')).toEqual(value);
        const text = await read(value, `json_build_object('value', value)->>'value'`);
        expect(kind.fromText(String(text))).toEqual(value);
      },
    );

    it.each(values)(
      'get the same JSON form from PostgreSQL and from graphql-js: $0',
      async (value) => {
        const json = await read(value, `(${concatenate(kind.json('value'))})`);
        expect(JSON.parse(String(json))).toEqual(JSON.parse(JSON.stringify(type.serialize(value))));
      },
    );

    it.each(values)(
      'get the same cursor text from PostgreSQL and from the gateway: $0',
      async (value) => {
        const text = kind.sort.textOf(value);
        expect(await read(value, kind.sort.asText('value'))).toBe(text);
        expect(kind.sort.text.parse(text)).toBe(text);
        const key = `${kind.sort.toKey ?? ''}('${text}'::${kind.sqlType})`;
        const same = `${kind.sort.sql('value', false)} = ${key}`;
        expect(await read(value, same)).toBe(true);
      },
    );
  });

  it.each([
    0n,
    2n ** 31n,
    2n ** 53n - 1n,
    2n ** 53n,
    -(2n ** 53n - 1n),
    -(2n ** 53n),
    2n ** 63n - 1n,
  ])(
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
