import sql, { join, raw } from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { readConfig } from '../../../src/gateway/config/config.ts';
import { createRepository, createTables, filterBy } from '../../../src/gateway/index.ts';
import type { Field } from '../../../src/gateway/tables/stored-table.ts';
import { createLog } from '../../../src/gateway/telemetry/log.ts';
import { openCopyOnPostgres, type TestDatabase } from '../../support/databases.ts';
import { columnName, modelOf } from '../../support/models.ts';

const ROWS = 100_000;
const COLUMNS = ['DateTime', 'Date'].flatMap((type) =>
  [false, true].map((isNullable) => {
    const name = `${isNullable ? 'last' : 'first'}${type}`;
    const sqlType = type === 'Date' ? 'date' : 'timestamptz';
    const key = columnName(name);
    return { name, column: key, type, isNullable, sqlType };
  }),
);

// Times that grow with the ids, as in a store that plans ahead. The last ones are missing, if they can be.
const FILL = `
  create table visits (
    id bigint primary key,
    ${COLUMNS.map(({ column, sqlType, isNullable }) => `${column} ${sqlType}${isNullable ? '' : ' not null'}`).join()}
  );
  insert into visits select n, ${COLUMNS.map(
    ({ isNullable }) =>
      `case when n < ${isNullable ? 99_000 : ROWS + 1} then timestamptz '2026-01-01' + n * interval '5 min' end`,
  ).join()}
    from generate_series(1, ${ROWS}) as n;
  ${COLUMNS.map(
    ({ column, isNullable }) =>
      `create index on visits (${isNullable ? `coalesce(${column}, 'infinity')` : column}, id);`,
  ).join('')}
  analyze visits;`;

const Visit = modelOf('Visit', 'visits', COLUMNS);
const visits = createRepository(
  createTables<{ Visit: { Shape: { id: bigint } } }>({ Visit }, {})('Visit'),
  {
    inputs: {},
    filters: (fields) =>
      Object.fromEntries(
        COLUMNS.map(({ name }) => [
          name,
          filterBy.range((fields as Record<string, unknown>)[name] as Field<Date>, {
            only: 'in it',
          }),
        ]),
      ),
    sorts: { id: 'Order by id.' },
  },
);

let db: TestDatabase;
beforeAll(async () => {
  db = await openCopyOnPostgres(readConfig({}), createLog('error'));
  for (const statement of FILL.split(';').filter((one) => one.trim() !== '')) {
    await db.write(sql`${raw(statement)}`);
  }
});
afterAll(() => db.close());

interface Plan {
  readonly 'Actual Rows': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly Plan[];
}

const rowsRead = ({ Plans = [], ...plan }: Plan): number =>
  Math.max(plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0), ...Plans.map(rowsRead));

describe.each(COLUMNS)('a list sorted by id, with a range of $name', ({ name }) => {
  it.each([
    ['a day', new Date('2026-08-01'), new Date('2026-08-02')],
    ['all days before a late one', new Date('0001-01-01'), new Date('2026-12-01')],
  ])('reads few rows for a page: %s', async (_range, from, before) => {
    for (const page of [{ first: 20 }, { last: 20 }]) {
      const { conditions, readingOrder, planning } = visits.pages.source.toWindow({
        filter: { [name]: { from, before } },
        ...page,
      });
      const [row] = await db.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
        sql`explain (analyze, format json) select * from visits
          where ${join(conditions, ' and ')} order by ${readingOrder} limit 21`,
        planning,
      );
      expect(row && rowsRead(row['QUERY PLAN'][0].Plan)).toBeLessThan(5000);
    }
  });
});
