import { expect } from 'vitest';

import { read } from './documents.ts';

/** The rows of a table in docs/standards.md, without its head, each as its cells. */
export function rowsUnder(heading: string): string[][] {
  const [, section = ''] = read('docs/standards.md').split(`\n## ${heading}\n`);
  const [own = ''] = section.split('\n## ');
  const [, , ...rows] = own.split('\n').filter((line) => line.startsWith('|'));
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** The checks of a suite that the documentation says fail: each a name, or the beginning of names and `*`. */
export const exceptionsOf = (suite: string): string[] =>
  rowsUnder('What fails')
    .filter(([name]) => name === suite)
    .flatMap(([, checks = '']) =>
      Array.from(checks.matchAll(/`([^`]+)`/g), ([, check = '']) => check),
    );

/** Whether an exception is about a check, or about all places in which that check fails. */
const isAbout = (exception: string, failure: string): boolean =>
  exception.endsWith('*')
    ? failure.startsWith(exception.slice(0, -1))
    : failure === exception || failure.startsWith(`${exception}: `);

/** Expects that the documentation explains each failure of a suite (`check` or `check: place`), and no other. */
export function expectExplained(suite: string, failures: readonly string[]): void {
  const exceptions = exceptionsOf(suite);
  expect({
    unexplained: failures.filter((failure) => !exceptions.some((known) => isAbout(known, failure))),
    outdated: exceptions.filter((known) => !failures.some((failure) => isAbout(known, failure))),
  }).toEqual({ unexplained: [], outdated: [] });
}
