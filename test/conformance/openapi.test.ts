import { createConfig, lintFromString } from '@redocly/openapi-core';
import spectral from '@stoplight/spectral-core';
import owasp from '@stoplight/spectral-owasp-ruleset';
import rulesets from '@stoplight/spectral-rulesets';
import { expect, it } from 'vitest';

import { petStore } from '../../src/store/index.ts';
import { bookshop } from '../gateway/bookshop/index.ts';
import { openApiOf } from '../support/documented.ts';
import { expectExplained } from '../support/standards.ts';
import { AUTH_BY_SECRET } from '../support/tokens.ts';

const DOCUMENTS = [petStore, bookshop].flatMap((store) =>
  [{}, { ...AUTH_BY_SECRET, AUTH_READ: 'scope' }, { ...AUTH_BY_SECRET, AUTH_READ: 'open' }].map(
    (environment) => JSON.stringify(openApiOf(environment, store)),
  ),
);

it('Redocly: the strict rules find only what docs/standards.md explains', async () => {
  const config = await createConfig({
    extends: ['recommended-strict'],
    rules: { 'operation-tag-defined': 'error' },
  });
  const found = await Promise.all(
    DOCUMENTS.map((source) => lintFromString({ source, absoluteRef: 'openapi.json', config })),
  );
  expectExplained(
    'Redocly',
    found.flat().map(({ ruleId, location }) => `${ruleId}: ${location[0]?.pointer}`),
  );
});

it.each([
  ['Spectral', rulesets.oas],
  ['OWASP API Security', owasp],
])('%s: all rules find only what docs/standards.md explains', async (suite, ruleset) => {
  const linter = new spectral.Spectral();
  linter.setRuleset({ extends: [[ruleset as spectral.RulesetDefinition, 'all']] });
  const found = await Promise.all(DOCUMENTS.map((source) => linter.run(source)));
  const failures = found.flat().map(({ code, path }) => `${code}: ${path.join('/')}`);
  expect(failures.join()).not.toContain('invalid-ref');
  expectExplained(
    suite,
    failures.map((failure) => failure.replace(/^owasp:/, '')),
  );
});
