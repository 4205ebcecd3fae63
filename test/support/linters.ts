import { createConfig, lintFromString, type Plugin } from '@redocly/openapi-core';
import spectral, { type RulesetDefinition } from '@stoplight/spectral-core';
import { oas } from '@stoplight/spectral-rulesets';

const ruleset = new spectral.Spectral();
ruleset.setRuleset({
  extends: [[oas as RulesetDefinition, 'all']],
  // It asks for an e-mail address, and nobody reads mail for a program that anybody can run.
  rules: { 'contact-properties': 'off' },
});

/** What Spectral finds in an OpenAPI document, by all of its rules. */
export async function lintWithSpectral(text: string): Promise<string[]> {
  const found = await ruleset.run(text);
  return found.map(({ code, path, message }) => `${code} ${path.join('.')}: ${message}`);
}

/** Declares the extension to Redocly, which does not check unknown ones. */
const resources: Plugin = {
  id: 'resources',
  typeExtension: {
    oas3: ({ Root, ...types }) => ({
      ...types,
      Root: {
        ...Root,
        properties: {
          ...Root?.properties,
          'x-resources': { name: 'SchemaList', properties: {}, items: 'Schema' },
        },
      },
    }),
  },
};

/** What Redocly finds in an OpenAPI document, by its strictest rules. */
export async function lintWithRedocly(text: string): Promise<string[]> {
  const config = await createConfig({ extends: ['recommended-strict'], plugins: [resources] });
  const found = await lintFromString({ source: text, absoluteRef: 'openapi.json', config });
  return found.map(({ ruleId, location, message }) => {
    const places = location.map(({ pointer }) => pointer).join(' ');
    return `${ruleId} ${places}: ${message}`;
  });
}
