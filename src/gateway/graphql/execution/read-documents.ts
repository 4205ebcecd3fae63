import type { Plugin } from 'graphql-yoga';

import { type Bounds, parseWithin, validateWithin } from '../analysis/validation.ts';
import type { Call } from './call.ts';

/** Parses and validates documents within the gateway's limits, by the rules of graphql-js and of other plugins. */
export const readDocuments = (bounds: Bounds): Plugin<Call> => ({
  onParse: ({ setParseFn }) => setParseFn((text) => parseWithin(bounds.limits, text)),
  onValidate: ({ setValidationFn }) =>
    setValidationFn((schema, document, rules) => validateWithin(bounds, schema, document, rules)),
});
