import sql, { type Sql } from 'sql-template-tag';

import type { Log } from '../telemetry/log.ts';
import type { Session } from './session.ts';

/** Whether few rows of a table have a text in their name; false if that is not known. */
export type IsRare = (text: string) => boolean;

/** Leaves every search to PostgreSQL. */
export const neverRare: IsRare = () => false;

/** A name in the statistics of PostgreSQL, and for how many rows it stands. */
interface SampleName {
  readonly name: string;
  readonly rows: number;
}

// As often as PostgreSQL looks whether its statistics are out of date (autovacuum_naptime).
const MAX_AGE_MS = 60_000;
// With fewer names, a text that none of them has may still be in many rows. More would take too long.
const MIN_SAMPLE = 100;
const MAX_SAMPLE = 1000;
// To find more by the index of trigrams takes longer than PostgreSQL takes to plan.
const MAX_RARE_ROWS = 300;
// What an index of trigrams can find with any LC_CTYPE.
const TRIGRAM = /[a-z\d]{3}/i;

const sampleSql = (table: string): Sql => sql`
  with statistics as (
    select reltuples as rows, coalesce(most_common_vals::text::text[], '{}') as common,
      coalesce(most_common_freqs, '{}') as shares, histogram_bounds::text::text[] as bounds,
      1 - coalesce((select sum(share) from unnest(most_common_freqs) as share), 0) as other_share
    from pg_class join pg_namespace on pg_namespace.oid = relnamespace
      join pg_stats on schemaname = nspname and tablename = relname
    where pg_class.oid = to_regclass(${table}::text) and reltuples > 0 and attname = 'name'
  )
  select name, share * rows as rows from statistics, unnest(common, shares) as each (name, share)
  union all
  select name, other_share * rows / cardinality(bounds) from statistics, unnest(bounds) as name`;

/** Creates the function that compares a text with the sample of a table. */
function createIsRare({ query }: Pick<Session, 'query'>, table: string, log: Log): IsRare {
  let sample: readonly SampleName[] = [];
  let readAt = Number.NEGATIVE_INFINITY;
  const read = async (): Promise<void> => {
    try {
      const names = await query<SampleName>(sampleSql(table));
      sample = names.map(({ name, rows }) => ({ name: name.toUpperCase(), rows }));
    } catch (error) {
      log.warn(
        { err: error },
        `The statistics of ${table} could not be read; searches take longer.`,
      );
    }
  };
  return (text) => {
    if (!TRIGRAM.test(text)) return false;
    const now = performance.now();
    if (now - readAt > MAX_AGE_MS) {
      readAt = now;
      void read();
    }
    if (sample.length < MIN_SAMPLE || sample.length > MAX_SAMPLE) return false;
    const part = text.toUpperCase();
    let found = 0;
    for (const { name, rows } of sample) if (name.includes(part)) found += rows;
    return found <= MAX_RARE_ROWS;
  };
}

/**
 * Creates the function that returns what is rare in the names of a table.
 *
 * To plan a search, PostgreSQL compares its text with a hundred names, which takes longer than to find a
 * few rows by the index. The gateway makes the same comparison with the same names in some microseconds.
 */
export function createRareTexts(
  session: Pick<Session, 'query'>,
  log: Log,
): (table: string) => IsRare {
  const known = new Map<string, IsRare>();
  return (table) => {
    const isRare = known.get(table) ?? createIsRare(session, table, log);
    known.set(table, isRare);
    return isRare;
  };
}
