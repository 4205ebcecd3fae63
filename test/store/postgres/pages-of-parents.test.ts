import { raw } from 'sql-template-tag';
import { beforeAll, expect, it } from 'vitest';

import { openCopyOnPostgres } from '../../support/databases.ts';
import { gateway, useGateway } from '../../support/gateway.ts';
import { TIMES_UNTIL_COMPILED } from '../../support/post.ts';

interface Plan {
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly Plan[];
}

/** Returns how many rows of a table a plan reads. */
const rowsRead = (plan: Plan, table: string): number => {
  const read = plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0);
  const own = plan['Relation Name'] === table ? read * plan['Actual Loops'] : 0;
  return (plan.Plans ?? []).reduce((sum, inner) => sum + rowsRead(inner, table), own);
};

useGateway({}, openCopyOnPostgres);
beforeAll(async () => {
  await gateway.db.write(
    raw(`insert into categories (name) select 'C' || n from generate_series(1, 50) as n`),
  );
  await gateway.db.write(
    raw(`insert into pets (name, category_id)
    select 'P' || n, n % 50 + 1 from generate_series(1, 10000) as n`),
  );
  await gateway.db.query(raw('analyze'));
});

it('pages of the rows of parents after a cursor read the rows of no other parents', async () => {
  const { pets } = await gateway.data('{ pets(first: 100) { pageInfo { endCursor } } }');
  const query = `{ categories(first: 20) { nodes { pets(first: 10, after: "${pets.pageInfo.endCursor}") { nodes { id } } } } }`;
  for (let time = 1; time <= TIMES_UNTIL_COMPILED; time += 1) {
    gateway.statements.length = 0;
    await gateway.data(query);
    const sql = gateway.statements.at(-1) ?? '';
    // One request's values, in the order of the parameters that the texts name.
    const values = sql.includes('with ordinality')
      ? ['array[100]', 'array[20]']
      : ['array[1,2,3,4,5]', '100'];
    const text = values.reduce(
      (replaced, value, index) => replaced.replaceAll(`$${index + 1}`, value),
      sql,
    );
    const [row] = await gateway.db.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
      raw(`explain (analyze, format json) ${text}`),
    );
    expect(row && rowsRead(row['QUERY PLAN'][0].Plan, 'pets')).toBeLessThanOrEqual(20 * 11);
  }
});
