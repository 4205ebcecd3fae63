import { readdirSync, readFileSync } from 'node:fs';

import { NoDeprecatedCustomRule, parse, validate } from 'graphql';
import { expect, it } from 'vitest';

import { readExamples } from '../../src/gateway/site/graphiql.ts';
import { changesQuery } from '../../src/gateway/site/home.ts';
import { petStore } from '../../src/store/index.ts';
import { ROOT } from '../../src/store/root.ts';

const { schema, pages, rest } = petStore;

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

it.each(samples)('a published sample uses no deprecated field: %s', (_where, text) => {
  const found = validate(schema, parse(text), [NoDeprecatedCustomRule]);
  expect(found.map(({ message }) => message)).toEqual([]);
});
