import { REST_LIFECYCLES, type RestLifecycle, toDay } from '../contract/lifecycle.ts';
import { deprecatedIn } from '../graphql/analysis/usage.ts';
import { schema } from '../graphql/schema.ts';
import type { Deprecated } from '../pages/status.ts';

/** All that is deprecated, REST first. */
export const DEPRECATED: readonly Deprecated[] = [
  ...Object.entries<RestLifecycle>(REST_LIFECYCLES).flatMap(
    ([operation, { deprecatedSince, successor }]) =>
      deprecatedSince
        ? { operation, reason: `Deprecated since ${toDay(deprecatedSince)}: use ${successor}.` }
        : [],
  ),
  ...Array.from(deprecatedIn(schema), ([operation, reason]) => ({ operation, reason })),
];
