import type { Sql } from 'sql-template-tag';
import { z } from 'zod';

import { parse } from '../contract/parse.ts';
import type { RangeType } from '../kinds/kind.ts';
import type { Field } from '../model/stored-table.ts';
import type { Words } from '../model/words.ts';
import type { RecordedCondition, Related } from './recorded.ts';

/** The cost of a condition that may scan many rows to find a few. */
export const SEARCH_COST = '300';

/**
 * Takes a column of another table that equals the rows' id, and returns the cursors' conditions on that column; empty
 * unless rows are sorted by id. PostgreSQL does not infer `book_id > 5` from `books.id > 5` and `book_id = books.id`.
 * Without these conditions, a merge join would read the other table from its start.
 */
export type IdBounds = (column: Sql) => Sql[];

/** A condition and its value. */
export interface Given {
  readonly of?: Related;
  readonly where: (idBounds: IdBounds) => readonly Sql[];
  /** Whether the condition may scan many rows to find a few. */
  readonly isSearch: boolean;
  /** Whether the best plan depends on the value. */
  readonly isSkewed: boolean;
  /** Whether the value is part of the statement's text, so that PostgreSQL makes a separate plan for each value. */
  readonly isConstant: boolean;
  readonly recorded?: RecordedCondition;
}

/** How PostgreSQL plans a condition, unless it says otherwise. */
export const plain = { isSearch: false, isSkewed: false, isConstant: false } as const;

/** Where a filter is used. */
export type Place = 'list' | 'changes';

/** How a store describes a condition. */
export interface Requirement {
  /** Describes the matching rows, after "Only books": `with one of these ids`. */
  readonly only: string;
  /** Whether the condition is also in the filter of changes. */
  readonly changes?: boolean;
}

/** A condition that callers can set, with everything that the gateway needs to know about it. */
export interface Condition extends Requirement {
  /** Additional sentences for the description. */
  readonly note?: string;
  /** An additional sentence for the filter of changes. */
  readonly changesNote?: string;
  /** The GraphQL type of the value: a scalar, an enum or a range. */
  readonly type: string | RangeType;
  readonly isList: boolean;
  /** Whether recorded rows can be compared with the value. */
  readonly isRecorded?: boolean;
  /** Validates the value, and returns the condition with that value. */
  readonly rule: z.ZodType<Given>;
  /** The cost of the condition, in lists and in changes. */
  readonly cost?: string;
  readonly changesCost?: string;
  /** The index that the condition needs, if the table does not have it. */
  readonly missingIndex?: string | undefined;
}

export type Conditions = Readonly<Record<string, Condition>>;

/** Returns the index that a column needs, if the table does not have it. */
export const missingIndex = ({ isIndexed, column }: Field): string | undefined =>
  isIndexed ? undefined : `an index that starts with ${column}`;

/** @throws Error if the filter of changes has a condition that recorded rows can't be compared with */
export function requireRecordable(table: string, conditions: Conditions): void {
  for (const [name, { changes, isRecorded }] of Object.entries(conditions)) {
    if (changes && !isRecorded) {
      throw new Error(
        `The filter ${name} of ${table} must not set \`changes\`: it cannot be checked for recorded rows.`,
      );
    }
  }
}

export const isIn = ({ changes }: Condition, place: Place): boolean =>
  place === 'list' || changes === true;

/** Returns the description of a condition in a filter. */
export const describe = (
  { only, note, changesNote }: Condition,
  { plural }: Words,
  place: Place,
): string =>
  [`Only ${plural} ${only}.`, note, place === 'changes' ? changesNote : undefined]
    .filter((sentence) => sentence !== undefined)
    .join(' ');

/** Creates the function that validates a filter of lists or changes. The function throws InvalidId or InvalidInput. */
export function readConditions(conditions: Conditions, place: Place): (filter: object) => Given[] {
  const shape = Object.entries(conditions).flatMap(([name, condition]) =>
    isIn(condition, place) ? [[name, condition.rule.nullish()] as const] : [],
  );
  const rule = z.object(Object.fromEntries(shape));
  return (filter) => Object.values(parse(rule, filter, 'filter')).filter((given) => given != null);
}
