import { usageOf } from '../analysis/usage.ts';
import { mapResult, type Step } from './call.ts';

/** Adds `extensions.deprecations` to a result: the deprecated schema elements that its operation uses. */
export const reportDeprecations: Step = (next) => (call) => {
  const { deprecated } = usageOf(call.schema, call.operation);
  if (deprecated.size === 0) return next(call);
  const deprecations = Array.from(deprecated, ([coordinate, reason]) => ({ coordinate, reason }));
  return mapResult(next(call), (result) => ({
    ...result,
    extensions: { ...result.extensions, deprecations },
  }));
};
