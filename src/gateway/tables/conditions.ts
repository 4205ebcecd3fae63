import type { Sql } from 'sql-template-tag';
import { z } from 'zod';

import { parse } from '../contract/parse.ts';
import type { RangeType } from '../kinds/kind.ts';
import type { IdBounds } from './listing.ts';
import type { RecordedCondition, Related } from './recorded.ts';
import type { Field } from './stored-table.ts';

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

/** What the filters of the schema say of a condition. Without a text it is not in that filter. */
export interface Descriptions {
  /** In the filter of lists. */
  readonly list?: string;
  /** In the filter of changes. */
  readonly changes?: string;
}

/** A condition that callers can set: all that the gateway knows of it. */
export interface Condition extends Descriptions {
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

/** Creates the function that validates a filter of lists or of changes. It throws InvalidId or InvalidInput. */
export function readConditions(
  conditions: Conditions,
  place: keyof Descriptions,
): (filter: object) => Given[] {
  const shape = Object.entries(conditions).flatMap(([name, condition]) =>
    condition[place] === undefined ? [] : [[name, condition.rule.nullish()] as const],
  );
  const rule = z.object(Object.fromEntries(shape));
  return (filter) => Object.values(parse(rule, filter, 'filter')).filter((given) => given != null);
}
