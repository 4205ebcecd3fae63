import './result.ts';
import '../category/schema.ts';
import '../pet/schema.ts';
import '../inventory/schema.ts';
import '../order/schema.ts';

import { builder } from './builder.ts';

// In the order of definition: a reader finds the id of a type first, not its description.
export const schema = builder.toSchema({ sortSchema: false });
