// Makes the manifest of the trusted documents: `npm run manifest -- <folder> [file]`.
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import {
  type DefinitionNode,
  type DocumentNode,
  GraphQLError,
  Kind,
  LoneAnonymousOperationRule,
  NoUnusedFragmentsRule,
  parse,
  print,
  separateOperations,
  Source,
  specifiedRules,
  validate,
} from 'graphql';

import { hashOf } from '../src/graphql/manifest.ts';
import { schema } from '../src/graphql/schema.ts';

/** Something is wrong with what was given; the message has a line for each. */
class DocumentsError extends Error {}

/** The files and lines that an error is about. */
function placesOf({ nodes, source, locations }: GraphQLError): string {
  const places = nodes
    ? nodes.flatMap(({ loc }) => (loc ? `${loc.source.name}:${loc.startToken.line}` : []))
    : [`${source?.name}:${locations?.[0]?.line}`];
  return [...new Set(places)].join(', ');
}

/** @throws DocumentsError if there are any errors. */
function throwErrors(errors: readonly GraphQLError[]): void {
  if (errors.length === 0) return;
  throw new DocumentsError(
    errors.map((error) => `${placesOf(error)}: ${error.message}`).join('\n'),
  );
}

/** What the .graphql files below a folder define, all together. */
function readDefinitions(folder: string): DefinitionNode[] {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw new DocumentsError(`${folder} is not a folder.`);
  }
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.graphql'))
    .map((file) => join(folder, file));
  const errors: GraphQLError[] = [];
  const definitions = files.toSorted().flatMap((file) => {
    try {
      return parse(new Source(readFileSync(file, 'utf8'), file)).definitions;
    } catch (error) {
      if (!(error instanceof GraphQLError)) throw error;
      errors.push(error);
      return [];
    }
  });
  throwErrors(errors);
  return definitions;
}

// Anonymous operations are refused one by one; a fragment may be there for later.
const RULES = specifiedRules.filter(
  (rule) => rule !== LoneAnonymousOperationRule && rule !== NoUnusedFragmentsRule,
);

function validateDocuments(document: DocumentNode): void {
  const anonymous = document.definitions
    .filter((node) => node.kind === Kind.OPERATION_DEFINITION)
    .filter(({ name }) => !name)
    .map((node) => new GraphQLError('The operation has no name.', { nodes: node }));
  throwErrors([...anonymous, ...validate(schema, document, RULES)]);
}

/** Where a definition stands: operations before fragments, then by name, as Apollo sorts them too. */
const placeOf = (node: DefinitionNode): string => {
  const name = 'name' in node ? node.name?.value : '';
  return `${node.kind === Kind.OPERATION_DEFINITION ? 0 : 1} ${name}`;
};

/** The text of each operation, with just the fragments that it uses, by its SHA-256. */
function toManifest(definitions: readonly DefinitionNode[]): Record<string, string> {
  const document: DocumentNode = {
    kind: Kind.DOCUMENT,
    definitions: definitions.toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1)),
  };
  validateDocuments(document);
  const texts = Object.values(separateOperations(document)).map(print);
  return Object.fromEntries(texts.map((text) => [hashOf(text), text]));
}

const [folder, file = 'trusted-documents.json'] = process.argv.slice(2);
try {
  if (!folder) throw new DocumentsError('Say where: npm run manifest -- <folder> [file]');
  const manifest = toManifest(readDefinitions(folder));
  const count = Object.keys(manifest).length;
  if (count === 0) throw new DocumentsError(`${folder} has no operation in any .graphql file.`);
  writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`);
  process.stdout.write(`Trusted documents in ${file}: ${count}\n`);
} catch (error) {
  if (!(error instanceof DocumentsError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
