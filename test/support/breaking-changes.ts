import { isDeepStrictEqual } from 'node:util';

import { CriticalityLevel, diff } from '@graphql-inspector/core';
import { buildSchema } from 'graphql';

import { exceptionsOf } from './standards.ts';

const ADDITIONS = new Set(exceptionsOf('GraphQL Inspector'));

/** Returns the paths of the changes, from a released GraphQL schema to the current one, that can break callers. */
export async function findGraphqlBreaks(released: string, current: string): Promise<string[]> {
  const changes = await diff(buildSchema(released), buildSchema(current));
  const paths = changes
    .filter(({ type, criticality: { level } }) =>
      level === CriticalityLevel.Dangerous
        ? !ADDITIONS.has(type)
        : level === CriticalityLevel.Breaking,
    )
    .map(({ path = 'schema' }) => path)
    // A change to a directive of a member does not break callers.
    .filter((path) => !path.includes('.@'));
  return [...new Set(paths)];
}

/** Returns an OpenAPI document without texts, examples, deprecations and extensions. A property `title` is kept. */
const withoutTexts = (document: object): unknown =>
  JSON.parse(
    JSON.stringify(document, (key, value) => {
      const isText = /^(description|summary|title)$/.test(key) && typeof value === 'string';
      return isText || /^(examples?|deprecated|x-.*)$/.test(key) ? undefined : value;
    }),
  );

/** Returns `REST` if two OpenAPI documents differ in more than texts, examples, deprecations and extensions. */
export const findRestChanges = (released: object, current: object): string[] =>
  isDeepStrictEqual(withoutTexts(released), withoutTexts(current)) ? [] : ['REST'];
