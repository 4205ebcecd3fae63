import plugin, { configs, parser } from '@graphql-eslint/eslint-plugin';
import { type ESLint, Linter } from 'eslint';
import { expect, it } from 'vitest';

import { read } from '../support/documents.ts';
import { expectExplained } from '../support/standards.ts';

it('GraphQL-ESLint: all rules for schemas and for Relay find only what docs/standards.md explains', () => {
  const code = read('schema.graphql');
  const found = new Linter().verify(code, {
    files: ['**'],
    languageOptions: {
      parser,
      parserOptions: { graphQLConfig: { schema: 'schema.graphql' } },
    },
    plugins: { '@graphql-eslint': plugin as unknown as ESLint.Plugin },
    rules: {
      ...configs['flat/schema-all'].rules,
      ...configs['flat/schema-relay'].rules,
      // It asks for an argument of `@deprecated` that the specification does not have.
      '@graphql-eslint/require-deprecation-date': 'off',
    },
  });
  expect(found.filter(({ ruleId }) => ruleId === null)).toEqual([]);
  const failures = found.map(({ ruleId, messageId, message }) => {
    const [, name = messageId] = /["`](\w+)["`]/.exec(message) ?? [];
    return `${ruleId?.replace('@graphql-eslint/', '')}: ${name}`;
  });
  expectExplained('GraphQL-ESLint', failures);
});
