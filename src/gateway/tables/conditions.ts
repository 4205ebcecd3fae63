import type { Sql } from 'sql-template-tag';
import { z } from 'zod';

import { parse } from '../contract/parse.ts';
import type { RangeType } from '../kinds/kind.ts';
import type { IdBounds } from './listing.ts';
import type { RecordedCondition, Related } from './recorded.ts';
import type { Field } from './stored-table.ts';
import type { Words } from './words.ts';

/** The cost of a condition that may search many rows to find a few. */
export const SEARCH_COST = '300';

/** A condition with its value. */
export interface Given {
  readonly of?: Related;
  readonly where: (idBounds: IdBounds) => readonly Sql[];
  /** Whether it may scan many rows to find few. */
  readonly isSearch: boolean;
  /** Whether the best plan depends on the value. */
  readonly isSkewed: boolean;
  /** Whether the value stands in the text of the statement, which PostgreSQL plans for each. */
  readonly isConstant: boolean;
  readonly recorded?: RecordedCondition;
}

/** Where a filter is. */
export type Place = 'list' | 'changes';

/** What a store says of a condition. */
export interface Requirement {
  /** Which rows meet it, after "Only books": `with one of these ids`. */
  readonly only: string;
  /** Further sentences, if callers must know more. */
  readonly note?: string;
  /** Whether it is in the filter of changes, too. */
  readonly changes?: boolean;
}

/** A condition that callers can set: all that the gateway knows of it. */
export interface Condition extends Requirement {
  /** What to add in the filter of changes. */
  readonly changesNote?: string;
  /** The type of its value in GraphQL: a scalar or an enum, or a range. */
  readonly type: string | RangeType;
  readonly isList: boolean;
  /** Validates the value, and returns the condition with it. */
  readonly rule: z.ZodType<Given>;
  /** The cost of the argument, in the filter of lists and in that of changes. */
  readonly cost?: string;
  readonly changesCost?: string;
  /** The index that would serve the condition, if its table lacks it. */
  readonly missingIndex?: string | undefined;
}

export type Conditions = Readonly<Record<string, Condition>>;

/** Returns the index for the values of a column, if its table lacks it. */
export const missingIndex = ({ isIndexed, column }: Field): string | undefined =>
  isIndexed ? undefined : `an index that begins with ${column}`;

export const isIn = ({ changes }: Condition, place: Place): boolean =>
  place === 'list' || changes === true;

/** Returns the description of a condition in a filter. */
export const describe = (
  { only, note, changesNote }: Condition,
  { all }: Words,
  place: Place,
): string =>
  [`Only ${all} ${only}.`, note, place === 'changes' ? changesNote : undefined]
    .filter((sentence) => sentence !== undefined)
    .join(' ');

/** Creates the function that validates a filter of lists or of changes. It throws InvalidId or InvalidInput. */
export function readConditions(conditions: Conditions, place: Place): (filter: object) => Given[] {
  const shape = Object.entries(conditions).flatMap(([name, condition]) =>
    isIn(condition, place) ? [[name, condition.rule.nullish()] as const] : [],
  );
  const rule = z.object(Object.fromEntries(shape));
  return (filter) => Object.values(parse(rule, filter, 'filter')).filter((given) => given != null);
}
