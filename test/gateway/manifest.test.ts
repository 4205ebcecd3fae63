import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { parse, print } from 'graphql';
import { describe, expect, it } from 'vitest';

import { makeManifest } from '../../scripts/manifest.ts';
import { makeFolder } from '../support/folders.ts';
import { hashOf } from '../support/manifest.ts';

/** Creates the manifest of some files; returns its text and the program's result. */
const make = (files: Record<string, string>) => {
  const folder = makeFolder();
  const app = join(folder, 'app');
  for (const [name, text] of Object.entries(files)) {
    const file = join(app, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  const target = join(folder, 'made.json');
  const { code, message } = makeManifest(app, target);
  const end = { code, message: message.replaceAll(`${app}/`, '') };
  return { end, made: code === 0 ? readFileSync(target, 'utf8') : undefined };
};

const PETS = 'query Pets { pets(first: 1) { nodes { ...Shown } } }';
const SHOWN = 'fragment Shown on Pet { id ...Named }';
const NAMED = 'fragment Named on Pet { name }\nfragment Unused on Pet { status }';
/** The operation with the fragments that it uses, in the order of their names. */
const TEXT = print(parse(`${PETS} fragment Named on Pet { name } ${SHOWN}`));
const COUNT = 'query Count {\n  pets {\n    totalCount\n  }\n}';

describe('npm run manifest', () => {
  it('writes each operation with the fragments it uses, whichever files they are in', async () => {
    const { made } = make({
      'pets.graphql': `${PETS} ${COUNT}`,
      'shared/shown.graphql': SHOWN,
      'shared/named.gql': NAMED,
      'shared/other.txt': 'not GraphQL',
      // Systems and editors add such files.
      '._count.graphql': '\0\0',
      'app/.#count.graphql': COUNT,
    });
    expect(Object.entries(JSON.parse(made ?? ''))).toEqual([
      [hashOf(COUNT), COUNT],
      [hashOf(TEXT), TEXT],
    ]);
    const elsewhere = make({ 'z.graphql': NAMED + SHOWN, 'zz/a.graphql': COUNT + PETS });
    expect(elsewhere.made).toBe(made);
  });

  it('reports the file and line of every error', async () => {
    const { end } = make({
      'a.graphql': 'query Same { __typename }\n\n{ __typename }\nquery Wrong { pets { x } }',
      'b.graphql': '# twice\nquery Same { ...Missing }\ntype A { b: Int }',
    });
    expect(end.code).toBe(1);
    expect(end.message.split('\n').toSorted()).toEqual([
      'a.graphql:1, b.graphql:2: There can be only one operation named "Same".',
      'a.graphql:3: The operation has no name.',
      expect.stringMatching(/^a\.graphql:4: Cannot query field "x" on type /),
      'b.graphql:2: Unknown fragment "Missing".',
      'b.graphql:3: The "A" definition is not executable.',
    ]);
  });

  it('reports a missing folder, and a folder without operations', async () => {
    expect(makeManifest('none')).toEqual({ code: 1, message: 'none is not a folder.' });
    const { end } = make({ 'a.txt': COUNT, 'a.graphql': 'fragment F on Pet { id }' });
    expect(end).toEqual({ code: 1, message: expect.stringMatching(/contain no operation\.$/) });
  });
});
