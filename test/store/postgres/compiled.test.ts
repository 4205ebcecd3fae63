import { readFileSync } from 'node:fs';

import { parse } from 'graphql';
import { expect, it } from 'vitest';

import { ParsedDocument } from '../../../src/gateway/operation/operation.ts';
import { readTree } from '../../../src/gateway/operation/statement/read-tree.ts';
import type { Node } from '../../../src/gateway/operation/statement/tree.ts';
import { petStore } from '../../../src/store/index.ts';
import { openCopyOnPostgres } from '../../support/databases.ts';
import { startGateway } from '../../support/gateway.ts';
import { TIMES_UNTIL_COMPILED } from '../../support/post.ts';

/** The generic terms in the comment, and the pet store's terms. */
const WORDS: readonly [RegExp, string][] = [
  [/\bbook/g, 'pet'],
  [/\btitle\b/g, 'name'],
  [/\bauthors\b/g, 'categories'],
  [/\bauthor/g, 'category'],
];

/** Returns part of the comment in the pet store's terms. */
const toStore = (text: string): string =>
  WORDS.reduce((changed, [word, own]) => changed.replaceAll(word, own), text);

/** Returns SQL without the line breaks and indents at which a comment may break it. */
const onOneLine = (sql: string): string =>
  sql.replaceAll(/\s+/g, ' ').replaceAll(/\( /g, '(').replaceAll(/ \)/g, ')').trim();

/** Returns a tree as the comment shows it: a line for each node, without the objects around the members. */
function toLines(node: Node): string[] {
  if (node.kind === 'object') {
    return node.members.flatMap(([key, member]) => {
      const [first, ...inner] = toLines(member);
      return [`${key}: ${first}`, ...inner];
    });
  }
  const inside = 'json' in node && typeof node.json === 'object' ? node.json : undefined;
  const members = node.kind === 'items' ? node.item : inside;
  return [
    'table' in node ? `${node.kind} of ${node.table.name}` : node.kind,
    ...(members ? toLines(members).map((line) => `  ${line}`) : []),
  ];
}

const source = readFileSync('src/gateway/operation/statement/compile.ts', 'utf8');

/** The indented blocks of the comment: a query, its tree and its statement. */
const [query = '', tree = '', statement = ''] = Array.from(
  source.matchAll(/(?:^ \* {5}.*\n)+/gm),
  ([block]) => toStore(block.replaceAll(/^ \* {5}/gm, '')),
);

it("a query is read as the tree shown in the compiler's comment", () => {
  const operation = new ParsedDocument(petStore.schema, parse(query)).find();
  const read = operation && readTree(operation, {});
  expect(read && toLines(read.root)).toEqual(tree.trimEnd().split('\n'));
});

it("a query is compiled to the statement shown in the compiler's comment", async () => {
  const gateway = await startGateway({}, openCopyOnPostgres);
  for (let time = 1; time <= TIMES_UNTIL_COMPILED; time += 1) {
    gateway.statements.length = 0;
    await gateway.data(query);
  }
  expect(gateway.statements.map(onOneLine)).toEqual([onOneLine(statement)]);
  await gateway.close();
});
