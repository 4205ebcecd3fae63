import { readFileSync } from 'node:fs';

const ADDRESS = 'http://127.0.0.1:4000';

export const read = (file: string): string => readFileSync(file, 'utf8');

export interface Block {
  readonly language: string;
  readonly text: string;
}

/** Reads the code blocks in a document, without indentation if they are in a list. */
export const blocksOf = (markdown: string): Block[] =>
  [...markdown.matchAll(/^( *)```(\w*)\n([^]*?)^ *```$/gm)].map(
    ([, indent = '', language = '', text = '']) => ({
      language,
      text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    }),
  );

export function requestOf(command: string) {
  const words = Array.from(
    command.matchAll(/'([^']*)'|"((?:\\.|[^"\\])*)"|[^\s'"]+/g),
    ([word, single, double]) => single ?? double ?? word,
  );
  const valuesOf = (option: string): string[] =>
    words.filter((_word, index) => words[index - 1] === option);
  const url = words.find((word) => word.startsWith(ADDRESS)) ?? '';
  const headers = valuesOf('-H').map((header) => header.split(': ') as [string, string]);
  const [body = ''] = valuesOf('-d');
  return { path: url.slice(ADDRESS.length), headers, body };
}
