import { isAsyncIterable, type Plugin } from 'graphql-yoga';

import { GRAPHQL_LIFECYCLES, toDay } from '../../contract/lifecycle.ts';
import { operationOf } from '../analysis/operation.ts';
import { usageOf } from '../analysis/usage.ts';

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
export function useDeprecations(): Plugin {
  return {
    onExecute: ({ args: { schema, document, operationName } }) => {
      const operation = operationOf(document, operationName);
      const deprecated = operation ? usageOf(schema, operation).deprecated : [];
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
