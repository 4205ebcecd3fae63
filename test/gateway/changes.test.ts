import { readFile } from 'node:fs/promises';

import { describe, expect, it } from 'vitest';

import { petStore } from '../../src/store/index.ts';
import { findGraphqlBreaks, findRestChanges } from '../support/breaking-changes.ts';
import { allowedIn, entriesOf } from '../support/changelog.ts';
import { openApiOf } from '../support/documented.ts';
import { readReleased } from '../support/released.ts';

const changelog = await readFile('CHANGELOG.md', 'utf8');
const schema = await readFile('schema.graphql', 'utf8');
const released = readReleased();
const openApi = openApiOf();

describe('CHANGELOG.md', () => {
  const facts = petStore.rest.routes.flatMap(({ name, lifecycle }) => {
    const { deprecatedSince: since, stability } = lifecycle;
    const sentences = [since && `since ${since.toISOString().slice(0, 10)}`, `is ${stability}`];
    return sentences.flatMap((fact) => (fact && fact !== 'is stable' ? [[name, fact]] : []));
  });

  it.each(facts)('says of the REST operation %s: %s', (name, fact = '') => {
    const entries = entriesOf(changelog).filter((entry) => entry.includes(`\`${name}\``));
    expect(entries, 'add this to CHANGELOG.md').toContainEqual(expect.stringContaining(fact));
  });

  it('has entries that allow exactly the breaking GraphQL changes and the REST changes since the last release', async () => {
    const breaks = [
      ...(await findGraphqlBreaks(released.graphql, schema)),
      ...findRestChanges(released.openapi, openApi),
    ];
    // An entry in CHANGELOG.md that allows a breaking change has the form: - **Breaking** `name`: why
    expect(allowedIn(changelog).toSorted()).toEqual(breaks.toSorted());
  });
});

it.each<[what: string, before: string, after: string, breaks: string[]]>([
  ['a deprecated field is removed', 'nick: String @deprecated', '', ['Pet.nick']],
  ['a default changes', 'Int = 20', 'Int = 10', ['Query.pets.first']],
  ['an enum value is added', 'FREE SOLD', 'FREE SOLD LOST', ['Status.LOST']],
  ['a union member is added', '= Pet', '= Pet | Taken', ['CreatePetResult']],
  ['a field is deprecated', 'name: String! nick', 'name: String! @deprecated nick', []],
  ['an optional argument is added', '(first:', '(in: ID, first:', []],
  ['an optional input field is added', 'name: String! s', 'name: String! tag: Int s', []],
])('the paths at which a change to the GraphQL schema breaks callers: %s', async (...row) => {
  const [, before, after, breaks] = row;
  const sdl = `
    enum Status { FREE SOLD }
    input NewPet { name: String! status: Status = FREE }
    type Pet { id: ID! name: String! nick: String @deprecated status: Status! }
    type Taken { message: String! }
    union CreatePetResult = Pet
    type Query { pets(first: Int = 20): [Pet!]! taken: Taken }
    type Mutation { createPet(input: NewPet!): CreatePetResult! }`;
  expect(await findGraphqlBreaks(sdl, sdl.replace(before, after))).toEqual(breaks);
});

const changed = (replace: (text: string) => string): string[] =>
  findRestChanges(openApi, JSON.parse(replace(JSON.stringify(openApi))) as object);

it('a change to the REST contract must be allowed by a changelog entry, unless it is one of descriptions', () => {
  expect(changed((text) => text.replace('"in":"path"', '"in":"query"'))).toEqual(['REST']);
  expect(changed((text) => text.replaceAll('"description":"', '"description":"So: '))).toEqual([]);
});
