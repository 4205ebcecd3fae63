import sql, { join } from 'sql-template-tag';
import { describe, expect, it } from 'vitest';

import { createRepository, createTables, filterBy } from '../../../src/gateway/index.ts';
import { openWith } from '../../support/databases.ts';
import { gateway, useGateway } from '../../support/gateway.ts';
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

// The sort keys of these are arrays.
const OTHERS = [
  { name: 'size', type: 'Int', isNullable: true },
  { name: 'place', type: 'String', isNullable: true },
];

// Times that grow with the ids, as in a store that plans ahead. The last ones are missing, if they can be.
const FILL = `
  create table visits (
    id bigint primary key,
    ${COLUMNS.map(({ column, sqlType, isNullable }) => `${column} ${sqlType}${isNullable ? '' : ' not null'}`).join()},
    size integer,
    place varchar(255)
  );
  insert into visits select n, ${COLUMNS.map(
    ({ isNullable }) =>
      `case when n < ${isNullable ? 99_000 : ROWS + 1} then timestamptz '2026-01-01' + n * interval '5 min' end`,
  ).join()},
      case when n % 3 > 0 then n * 7919 % ${ROWS} end,
      case when n % 3 > 0 then 'Place ' || n * 7919 % ${ROWS} end
    from generate_series(1, ${ROWS}) as n;
  ${COLUMNS.map(
    ({ column, isNullable }) =>
      `create index on visits (${isNullable ? `coalesce(${column}, 'infinity')` : column}, id);`,
  ).join('')}
  create index on visits ((array[size]), id);
  create index on visits ((array[folded(place) collate "C"]), id);
  analyze visits;`;

const Visit = modelOf('Visit', 'visits', [...COLUMNS, ...OTHERS]);
interface Row {
  id: bigint;
  size: number | null;
  place: string | null;
}
const only = 'in it';
const visits = createRepository(createTables<{ Visit: { Shape: Row } }>({ Visit }, {})('Visit'), {
  inputs: {},
  filters: (fields) => ({
    ...Object.fromEntries(
      COLUMNS.map(({ name }) => [name, filterBy.range(fields[name as never], { only })]),
    ),
    minSize: filterBy.min(fields.size, { only }),
    maxSize: filterBy.max(fields.size, { only }),
    hasSize: filterBy.isSet(fields.size, { only }),
    hasPlace: filterBy.isSet(fields.place, { only }),
  }),
  sorts: { id: 'Order by id.', size: 'Order by size.', place: 'Order by place.' },
});

useGateway({}, openWith(FILL));

interface Plan {
  readonly 'Actual Rows': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly Plan[];
}

const rowsRead = ({ Plans = [], ...plan }: Plan): number =>
  Math.max(plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0), ...Plans.map(rowsRead));

/** Expects few rows to be read for the first and the last page of a list. */
async function expectFewRows(filter: object, field: string): Promise<void> {
  for (const page of [{ first: 20 }, { last: 20 }]) {
    const { conditions, readingOrder, planning } = visits.pages.sql.toWindow({
      filter,
      orderBy: { field, direction: 'ASC' },
      ...page,
    });
    const [row] = await gateway.db.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
      sql`explain (analyze, format json) select * from visits
        where ${join(conditions, ' and ')} order by ${readingOrder} limit 21`,
      { planning },
    );
    expect(row && rowsRead(row['QUERY PLAN'][0].Plan)).toBeLessThan(5000);
  }
}

describe.each(COLUMNS)('a list sorted by id, with a range of $name', ({ name }) => {
  it.each([
    ['a day', new Date('2026-08-01'), new Date('2026-08-02')],
    ['all days before a late one', new Date('0001-01-01'), new Date('2026-12-01')],
  ])('reads few rows for a page: %s', async (_range, from, before) => {
    await expectFewRows({ [name]: { from, before } }, 'ID');
  });
});

it.each([
  [{ minSize: 90_000 }, 'SIZE'],
  [{ maxSize: 10_000 }, 'SIZE'],
  [{ minSize: 99_900 }, 'ID'],
  [{ hasSize: true }, 'SIZE'],
  [{ hasSize: false }, 'SIZE'],
  [{ hasPlace: true }, 'PLACE'],
  [{ hasPlace: false }, 'PLACE'],
])('a list with a filter by a value that may be missing reads few rows: %o by %s', expectFewRows);
