import { isAsyncIterable, type Plugin } from 'graphql-yoga';

import { GRAPHQL_LIFECYCLES, toDay } from '../../contract/lifecycle.ts';
import { usageOf } from '../analysis/usage.ts';

/** What a caller is told of something deprecated that its operation uses. */
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

/** Tells in `extensions.deprecations` what an operation uses that is deprecated. */
export function useDeprecations(): Plugin {
  return {
    onExecute: ({ args: { schema, document, operationName } }) => {
      const { deprecated } = usageOf(schema, document, operationName);
      if (deprecated.length === 0) return undefined;
      const deprecations = deprecated.map(toNotice);
      return {
        onExecuteDone: ({ result, setResult }) => {
          if (isAsyncIterable(result)) return;
          setResult({ ...result, extensions: { ...result.extensions, deprecations } });
        },
      };
    },
  };
}
