import { toDay } from '../contract/day.ts';
import { deprecatedIn } from '../graphql/analysis/usage.ts';
import type { Deprecated } from '../pages/status.ts';
import { deprecatedOf } from '../rest/rest-operation.ts';
import type { Store } from '../store.ts';

/** Returns all that is deprecated, REST first. */
export const findDeprecated = ({ schema, rest }: Store): Deprecated[] => [
  ...deprecatedOf(rest.operations).map(({ name, since, successor }) => ({
    operation: name,
    reason: `Deprecated since ${toDay(since)}: use ${successor}.`,
  })),
  ...Array.from(deprecatedIn(schema), ([operation, reason]) => ({ operation, reason })),
];
