import '../builder/errors.ts';
import '../store/category/schema.ts';
import '../store/pet/schema.ts';
import '../store/inventory/schema.ts';
import '../store/order/schema.ts';

import { printSchemaWithDirectives } from '@graphql-tools/utils';
import { defaultFieldResolver, isObjectType, specifiedDirectives } from 'graphql';

import { builder } from '../builder/builder.ts';
import { cost, listSize } from '../builder/cost.ts';
import { requiresOptIn } from '../builder/lifecycle.ts';

// In the order of definition: a reader finds the id of a type first, not its description.
export const schema = builder.toSchema({
  sortSchema: false,
  directives: [...specifiedDirectives, cost, listSize, requiresOptIn],
});

// graphql-jit 0.8.9 reads what has no resolver at once and never answers where that throws. A row is
// plain; an edge and a PageInfo make their cursors.
for (const type of Object.values(schema.getTypeMap())) {
  if (!isObjectType(type) || !/(Edge|PageInfo)$/.test(type.name)) continue;
  for (const field of Object.values(type.getFields())) field.resolve ??= defaultFieldResolver;
}

// graphql-js prints types without a blank line between their members.
const withBlankLines = (sdl: string): string =>
  sdl.replaceAll(/([{(]\n)?^ +"""[^]*?"""$/gm, (described: string, opening?: string) =>
    opening ? described : `\n${described}`,
  );

/** The schema as text, its directives too. */
export const printedSchema = (): string => `${withBlankLines(printSchemaWithDirectives(schema))}\n`;
