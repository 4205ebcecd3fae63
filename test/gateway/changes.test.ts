import { readFile } from 'node:fs/promises';

import { describe, expect, it } from 'vitest';

import { readConfig } from '../../src/gateway/config/config.ts';
import { toDay } from '../../src/gateway/kinds/times.ts';
import { printSchema } from '../../src/gateway/schema/print.ts';
import type { RestRoute } from '../../src/gateway/store.ts';
import { petStore } from '../../src/store/index.ts';
import { findGraphqlBreaks, findRestChanges } from '../support/breaking-changes.ts';
import { allowedIn, entriesOf } from '../support/changelog.ts';
import { openApiOf } from '../support/documented.ts';
import { readReleased } from '../support/released.ts';

const changelog = await readFile(new URL('../../CHANGELOG.md', import.meta.url), 'utf8');
const released = readReleased();
const openApi = openApiOf(readConfig({}));

describe('CHANGELOG.md', () => {
  const lifecycles = petStore.rest.routes.map(
    ({ name, lifecycle }): [string, RestRoute['lifecycle']] => [name, lifecycle],
  );

  it.each(lifecycles.filter(([, { deprecatedSince }]) => deprecatedSince))(
    'gives the deprecation date of %s',
    (name, { deprecatedSince = new Date(0) }) => {
      const entries = entriesOf(changelog).filter((entry) => entry.includes(`\`${name}\``));
      expect(entries).toContainEqual(expect.stringContaining(`since ${toDay(deprecatedSince)}`));
    },
  );

  it.each(lifecycles.filter(([, { stability }]) => stability !== 'stable'))(
    'gives the stability of %s',
    (name, { stability }) => {
      const entries = entriesOf(changelog).filter((entry) => entry.includes(`\`${name}\``));
      expect(entries, `add "\`${name}\` is ${stability}" to CHANGELOG.md`).toContainEqual(
        expect.stringContaining(`is ${stability}`),
      );
    },
  );

  it('has entries that allow exactly the breaking GraphQL changes and the REST changes since the last release', async () => {
    const breaks = [
      ...(await findGraphqlBreaks(released.graphql, printSchema(petStore.schema))),
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
