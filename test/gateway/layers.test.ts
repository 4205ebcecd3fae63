import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

import { expect, it } from 'vitest';

// A folder or a file of the gateway imports only itself and the ones before it in this list.
const ORDER = [
  ...'contract kinds config telemetry auth database model list repository.ts changes'.split(' '),
  ...'context.ts store.ts schema operation transport site server index.ts'.split(' '),
];

const ROOT = 'src/gateway';
const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

/** Returns the files that a file imports. */
const importsOf = (file: string): string[] =>
  Array.from(
    readFileSync(file, 'utf8').matchAll(/(?:from|import|import\() ?'(\.[^']+)'/g),
    ([, path = '']) => join(file, '..', path),
  );

const layerOf = (file: string): number => ORDER.indexOf(relative(ROOT, file).split('/')[0] ?? '');

it("each folder of the gateway imports only itself and what comes before it in this test's ORDER", () => {
  const files = filesIn(ROOT).filter((file) => file.endsWith('.ts'));
  const wrong = files.flatMap((file) =>
    importsOf(file)
      // The name and the version of the package.
      .filter((imported) => imported !== 'package.json')
      .filter((imported) => layerOf(imported) === -1 || layerOf(imported) > layerOf(file))
      .map((imported) => `${file} imports ${imported}`),
  );
  expect(wrong).toEqual([]);
});

it('no two files declare a type with the same name: one noun, one thing', () => {
  const declaration = /^(?:export )?(?:abstract )?(?:interface|type|class|enum) (\w+)/gm;
  const names = filesIn('src')
    .filter((file) => file.endsWith('.ts') && !file.includes('generated'))
    .flatMap((file) =>
      Array.from(readFileSync(file, 'utf8').matchAll(declaration), ([, name]) => name),
    );
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

it('the gateway and its test titles never mention a particular store', () => {
  const word = /\b(?:[Pp]ets?|[Cc]ategor(?:y|ies)|[Ii]nventory|[Ss]tock|orders)\b|\bOrder[A-Z]/;
  const lines = filesIn(ROOT).flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .map((text, index) => ({ place: `${file}:${index + 1}`, text })),
  );
  const titles = filesIn('test/gateway').flatMap((file) =>
    Array.from(
      readFileSync(file, 'utf8').matchAll(
        /\b(?:it|test|describe)(?:\.\w+)*(?:\([^)]*\))?\(\s*(['"`])(.*?)\1/g,
      ),
      ([, , text = '']) => ({ place: file, text }),
    ),
  );
  expect([...lines, ...titles].filter(({ text }) => word.test(text))).toEqual([]);
});

it('the table of ideas in docs/architecture.md has at most 60 rows of at most 20 words, in the order of the folders', () => {
  const [, table = ''] = readFileSync('docs/architecture.md', 'utf8').split('## Words\n');
  const [, , ...rows] = table.split('\n').filter((line) => line.startsWith('| '));
  expect(rows.length).toBeLessThanOrEqual(60);
  const cells = rows.map((row) => row.split('|').map((cell) => cell.trim()));
  expect(cells.filter(([, , meaning = '']) => meaning.split(' ').length > 20)).toEqual([]);
  // docs.test.ts checks that the file of each idea exists.
  const layers = cells.map(([, , , link = '']) => layerOf(/\(\.\.\/(.+)\)$/.exec(link)?.[1] ?? ''));
  expect(layers).not.toContain(-1);
  expect(layers).toEqual(layers.toSorted((a, b) => a - b));
});
