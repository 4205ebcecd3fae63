import { readdirSync, readFileSync } from 'node:fs';

import { buildSchema, NoDeprecatedCustomRule, parse, validate } from 'graphql';
import { describe, expect, it } from 'vitest';

import { readExamples } from '../../src/gateway/site/graphiql.ts';
import { changesQuery } from '../../src/gateway/site/home.ts';
import { petStore } from '../../src/store/index.ts';
import { ROOT } from '../../src/store/root.ts';

const { schema, pages, rest } = petStore;

/** Returns a message about each deprecated field that a document uses. */
const deprecatedIn = (document: string, of = schema): string[] =>
  validate(of, parse(document), [NoDeprecatedCustomRule]).map(({ message }) => message);

const guides = ['README.md', ...readdirSync('docs').map((file) => `docs/${file}`)]
  .filter((file) => file.endsWith('.md'))
  .flatMap((file) => {
    const text = readFileSync(new URL(file, ROOT), 'utf8');
    const blocks = text.matchAll(/^( *)```graphql\n([^]*?)^ *```$/gm);
    return Array.from(blocks, ([, , block = '']) => [file, block] as const);
  });

const samples = [
  ...(await readExamples(pages.examples)).map(
    ({ query }) => ['an example of GraphiQL', query] as const,
  ),
  ['the start page', pages.example.query] as const,
  ['the start page', pages.mutation.query] as const,
  ['the start page', pages.subscription] as const,
  ['the list of changes', changesQuery(petStore)] as const,
  ...rest.routes.map(({ name, migration }) => [`the guide of ${name}`, migration.query] as const),
  ...guides,
];

describe('a published sample', () => {
  it.each(samples)('uses no deprecated field: %s', (_where, text) => {
    expect(deprecatedIn(text), 'use the replacement that the deprecation reason names').toEqual([]);
  });

  it('fails the check if it uses a deprecated field', () => {
    const other = buildSchema('type Query { old: Int @deprecated(reason: "Use new."), new: Int }');
    expect(deprecatedIn('{ old new }', other)).toEqual([
      'The field Query.old is deprecated. Use new.',
    ]);
  });
});
