import sql, { raw } from 'sql-template-tag';

import type { Database } from '../database/database.ts';
import { MigrationError } from '../database/migrations.ts';
import type { ListSorts } from './sorts.ts';
import type { Table } from './table.ts';

/** A table with the sorts of its list. */
interface SortedTable extends Table<never> {
  readonly sorts: ListSorts;
}

// A node of a plan that sorts. A Merge Append, which reads partitions in order, has a sort key, but sorts nothing.
const SORT = /^(?: *-> +)?(?:Incremental )?Sort$/;

/**
 * Requires an index for each sort. An index on an expression can't be declared in schema.prisma, so this asks PostgreSQL
 * how it would read the rows in order: only without an index does it have to sort them.
 * @throws MigrationError
 */
export const requireSortIndexes = (db: Database, tables: Iterable<SortedTable>): Promise<void> =>
  db.transaction(async ({ query }) => {
    await query(sql`
      select set_config('enable_sort', 'off', true), set_config('enable_seqscan', 'off', true)`);
    for (const { name, id, sorts } of tables) {
      for (const [sort, { field }] of Object.entries(sorts)) {
        const { ownColumn, isNullable, kind } = field;
        const key = kind.sort.sql(ownColumn, isNullable);
        const plan = await query<{ 'QUERY PLAN': string }>(
          sql`explain (costs off) select from ${raw(`${name} order by ${key}, ${id.column}`)}`,
          'each',
        );
        if (!plan.some((line) => SORT.test(line['QUERY PLAN']))) continue;
        throw new MigrationError(
          `The sort ${sort} of ${name} has no valid index. Add this line to a migration: ` +
            `CREATE INDEX ON ${name} ((${key}), ${id.column});`,
        );
      }
    }
  });
