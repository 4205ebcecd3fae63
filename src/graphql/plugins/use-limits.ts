import type { Plugin } from 'graphql-yoga';

import { type Bounds, parseWithin, validateWithin } from '../analysis/validation.ts';

/** Rejects documents that are too large before they are validated. */
export const useLimits = (bounds: Bounds): Plugin => ({
  onParse: ({ setParseFn }) => {
    setParseFn((source) => parseWithin(bounds.limits, source));
  },
  onValidate: ({ setValidationFn }) => {
    setValidationFn((schema, document) => validateWithin(bounds, schema, document));
  },
});
