import type { Plugin } from 'graphql-yoga';

import type { Config } from '../../config/config.ts';
import { parseWithin, validateWithin } from '../analysis/validation.ts';
import type { RequestContext } from '../execution/call.ts';

/** Parses and validates new documents within the limits. */
export const useDocuments = (config: Config): Plugin<RequestContext> => ({
  onParse: ({ setParseFn }) => setParseFn((text) => parseWithin(config.limits, text)),
  onValidate: ({ setValidationFn }) =>
    setValidationFn((schema, document) => validateWithin(config, schema, document)),
});
