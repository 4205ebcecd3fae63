import { useFilterAllowedOperations } from '@envelop/filter-operation-type';
import { OperationTypeNode } from 'graphql';

import type { Store } from '../../../src/gateway/index.ts';
import { bookshop } from './index.ts';

const { QUERY, SUBSCRIPTION } = OperationTypeNode;

/** The bookshop for callers that only read. */
export const readOnlyBookshop: Store = {
  ...bookshop,
  plugins: [useFilterAllowedOperations([QUERY, SUBSCRIPTION])],
};
