import sql from 'sql-template-tag';

import type { Session } from './session.ts';

// Searches for a part that one in a hundred rows contains are still faster if they find all of these first.
const MAX_RARE_PART = 0.0101;
const MAX_RARE_ROWS = 300;
// In a smaller sample, a part that many rows contain can be missing.
const MIN_SAMPLE = 100;

/** Whether a trigram index (pg_trgm) can find a text. Without three letters or digits in a row, it finds every row. */
export const hasTrigram = (text: string): boolean => /[\p{L}\p{Nd}]{3}/u.test(text);

/** A text of a sample, and how many rows it stands for. */
interface SampledText {
  readonly table: string;
  readonly text: string;
  readonly rows: number;
}

// Of the most common texts, PostgreSQL knows how many rows have them; between two bounds of its histogram, there are
// equally many rows.
const SAMPLES_SQL = sql`
  with sampled as (
    select tablename, reltuples, most_common_vals::text::text[] as common, most_common_freqs as parts,
      histogram_bounds::text::text[] as bounds,
      1 - coalesce((select sum(part) from unnest(most_common_freqs) as part), 0) as other
    from pg_stats join pg_class on pg_class.oid = to_regclass(format('%I.%I', schemaname, tablename))
    where schemaname = current_schema() and tablename like '%\\_folded\\_%' and attname = 'text' and reltuples > 0
  )
  select tablename as "table", text, (part * reltuples)::float8 as rows
  from sampled, unnest(common, parts) as each (text, part)
  union all
  select tablename, text, (other * reltuples / cardinality(bounds))::float8
  from sampled, unnest(bounds) as each (text)`;

/** The parts of a word between letters that only `folded` in PostgreSQL replaces, such as ø, in the form that it returns. */
const partsOf = (word: string): string[] =>
  word
    .normalize('NFD')
    .replaceAll(/[\u0300-\u036F]/g, '')
    .toLowerCase()
    .split(/[ßæœþðđħıłøŧŋς]/u);

/** PostgreSQL's own samples of the texts that can be searched, by which it plans. They are as old as the last ANALYZE. */
export class TextSamples {
  readonly #query: Session['query'];
  #textsOf = new Map<string, SampledText[]>();

  constructor(query: Session['query']) {
    this.#query = query;
  }

  async read(): Promise<void> {
    const textsOf = new Map<string, SampledText[]>();
    for (const one of await this.#query<SampledText>(SAMPLES_SQL)) {
      const texts = textsOf.get(one.table) ?? [];
      texts.push(one);
      textsOf.set(one.table, texts);
    }
    this.#textsOf = textsOf;
  }

  /** Whether few rows of a table with folded texts contain all of these words; false if the sample can't tell. */
  areRare(table: string, words: readonly string[]): boolean {
    const texts = this.#textsOf.get(table) ?? [];
    const parts = words.flatMap(partsOf);
    if (texts.length < MIN_SAMPLE || !parts.some(hasTrigram)) return false;
    let found = 0;
    let all = 0;
    for (const { text, rows } of texts) {
      all += rows;
      if (parts.every((part) => text.includes(part))) found += rows;
    }
    return found <= Math.max(MAX_RARE_ROWS, MAX_RARE_PART * all);
  }
}
