import { readFileSync } from 'node:fs';

import { parse, print, visit } from 'graphql';

import { ROOT } from '../../src/store/root.ts';

/** Returns the schema without an object type, as an older app knows it. */
export function schemaWithout(type: string): string {
  const document = parse(readFileSync(new URL('schema.graphql', ROOT), 'utf8'));
  return print(
    visit(document, {
      ObjectTypeDefinition: ({ name }) => (name.value === type ? null : undefined),
      UnionTypeDefinition: (union) => ({
        ...union,
        types: union.types?.filter(({ name }) => name.value !== type),
      }),
    }),
  );
}
