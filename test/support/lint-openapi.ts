import { createConfig, lintFromString } from '@redocly/openapi-core';

/** The problems that Redocly finds in an OpenAPI document. */
export async function lintOpenApi(text: string): Promise<string[]> {
  const config = await createConfig({
    extends: ['recommended-strict'],
    rules: {
      'operation-tag-defined': 'error',
      // The document has all resources of the specification, including those that only GraphQL uses.
      'no-unused-components': 'off',
    },
  });
  const found = await lintFromString({ source: text, absoluteRef: 'openapi.json', config });
  return found.map(({ ruleId, location, message }) => {
    const places = location.map(({ pointer }) => pointer).join(' ');
    return `${ruleId} ${places}: ${message}`;
  });
}
