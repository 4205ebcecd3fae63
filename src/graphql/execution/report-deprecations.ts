import { GRAPHQL_LIFECYCLES, toDay } from '../../contract/lifecycle.ts';
import { usageOf } from '../analysis/usage.ts';
import { type Execute, mapResult } from './call.ts';

/** A deprecated schema element that an operation uses. */
interface DeprecationNotice {
  readonly coordinate: string;
  readonly deprecatedSince?: string;
  readonly successor?: string;
}

function toNotice(coordinate: string): DeprecationNotice {
  const { deprecatedSince, successor } = GRAPHQL_LIFECYCLES.get(coordinate) ?? {};
  return {
    coordinate,
    ...(deprecatedSince && { deprecatedSince: toDay(deprecatedSince) }),
    ...(successor && { successor }),
  };
}

/** Adds `extensions.deprecations` to a result: the deprecated schema elements that its operation uses. */
export const reportDeprecations =
  (next: Execute): Execute =>
  (call) => {
    const { deprecated } = usageOf(call.schema, call.operation);
    if (deprecated.length === 0) return next(call);
    const deprecations = deprecated.map(toNotice);
    return mapResult(next(call), (result) => ({
      ...result,
      extensions: { ...result.extensions, deprecations },
    }));
  };
