import { z } from 'zod';

import { parse } from '../contract/parse.ts';
import type { RangeType } from '../kinds/kind.ts';
import type { Field, StoredTable } from '../model/stored-table.ts';
import type { Words } from '../model/words.ts';
import type { Condition } from './condition.ts';

/** The cost of a condition that may scan many rows to find a few, or that PostgreSQL plans each time. */
export const SEARCH_COST = '300';

export type Place = 'list' | 'changes';

/** What callers can filter by: a condition without its value. */
export interface Filter extends Omit<Condition, 'value'> {
  /** Describes the matching rows, after "Only books": `with one of these ids`. */
  readonly only: string;
  /** Additional sentences for the description. */
  readonly note?: string;
  /** Whether the filter of changes has it too. */
  readonly changes?: boolean;
  /** The GraphQL type of the value: a scalar, an enum or a range. */
  readonly type: string | RangeType;
  readonly isList: boolean;
  /** Validates a value. Returns null if all rows match it. */
  readonly rule: z.ZodType;
  /** The cost of the condition in lists. */
  readonly cost?: string;
}

export type Filters = Readonly<Record<string, Filter>>;

/** @throws Error if PostgreSQL would have to scan the table for a list */
export function requireIndex<Row>({ name, idField }: StoredTable<Row>, field: Field): void {
  if (field.isIndexed) return;
  throw new Error(
    `A list of ${name} needs an index that starts with ${field.column}. Add \`@@index([${field.name}, ${idField}])\` ` +
      'to its model in schema.prisma, and a CREATE INDEX to a migration.',
  );
}

/** Returns the filters of lists or of changes, with their names. */
export const filtersIn = (filters: Filters, place: Place): [name: string, filter: Filter][] =>
  Object.entries(filters).filter(([, { changes }]) => place === 'list' || changes === true);

export function describeFilter(
  { only, note, relation }: Filter,
  words: Words,
  place: Place,
): string {
  const sentences = [`Only ${words.plural} ${only}.`, ...(note === undefined ? [] : [note])];
  if (relation && place === 'changes') {
    const { singular } = relation.table.words;
    sentences.push(
      `The filter checks the current state of the ${singular}. A deleted ${singular} always matches.`,
    );
  }
  return sentences.join(' ');
}

/** Creates the function that parses a filter of lists or changes. The function throws InvalidId or InvalidInput. */
export function createParseFilter(filters: Filters, place: Place): (filter: object) => Condition[] {
  const known = filtersIn(filters, place);
  const rule = z.object(Object.fromEntries(known.map(([name, one]) => [name, one.rule.nullish()])));
  return (filter) => {
    const values = parse(rule, filter, 'filter');
    return known.flatMap(([name, { op, field, relation }]) => {
      const value = values[name];
      return value == null ? [] : { op, field, relation, value };
    });
  };
}
