import '../schema/errors.ts';
import '../schema/nodes.ts';
import '../../store/category/schema.ts';
import '../../store/pet/schema.ts';
import '../../store/inventory/schema.ts';
import '../../store/order/schema.ts';
import { printSchemaWithDirectives } from '@graphql-tools/utils';
import { specifiedDirectives } from 'graphql';

import { builder } from '../schema/builder.ts';
import { cost, listSize } from '../schema/cost.ts';

// In the order of definition, so that a type begins with its id.
export const schema = builder.toSchema({
  sortSchema: false,
  directives: [...specifiedDirectives, cost, listSize],
});

// graphql-js prints types without a blank line between their members.
const withBlankLines = (sdl: string): string =>
  sdl.replaceAll(/([{(]\n)?^ +"""[^]*?"""$/gm, (described: string, opening?: string) =>
    opening ? described : `\n${described}`,
  );

/** Returns the schema as SDL, with its directives. */
export const printedSchema = (): string => `${withBlankLines(printSchemaWithDirectives(schema))}\n`;
