import { printSchemaWithDirectives } from '@graphql-tools/utils';
import type { GraphQLSchema } from 'graphql';

// graphql-js prints types without a blank line between their members.
const withBlankLines = (sdl: string): string =>
  sdl.replaceAll(/([{(]\n)?^ +"""[^]*?"""$/gm, (described: string, opening?: string) =>
    opening ? described : `\n${described}`,
  );

/** Returns a schema as SDL, including its directives. */
export const printSchema = (schema: GraphQLSchema): string =>
  `${withBlankLines(printSchemaWithDirectives(schema))}\n`;
