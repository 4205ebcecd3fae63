// Writes the manifest of the trusted documents: `npm run manifest -- <folder> [file]`.
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

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

import { hashOf } from '../src/gateway/operation/manifest.ts';
import { petStore } from '../src/store/index.ts';

const { schema } = petStore;

/** The arguments or documents are invalid; the message has one line per problem. */
class ManifestError extends Error {}

/** Returns the file names and line numbers of an error. */
function locationsOf({ nodes, source, locations }: GraphQLError): string {
  const all = nodes
    ? nodes.flatMap(({ loc }) => (loc ? `${loc.source.name}:${loc.startToken.line}` : []))
    : [`${source?.name}:${locations?.[0]?.line}`];
  return [...new Set(all)].join(', ');
}

/** @throws ManifestError if there are any errors */
function throwIfAny(errors: readonly GraphQLError[]): void {
  if (errors.length === 0) return;
  throw new ManifestError(
    errors.map((error) => `${locationsOf(error)}: ${error.message}`).join('\n'),
  );
}

/** Returns the definitions of all .graphql and .gql files in a folder and its subfolders. */
function readDefinitions(folder: string): DefinitionNode[] {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw new ManifestError(`${folder} is not a folder.`);
  }
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    // Not those that systems and editors leave beside a document, such as `._a.graphql` and `.#a.graphql`.
    .filter((file) => /^[^.].*\.(graphql|gql)$/.test(basename(file)))
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
  throwIfAny(errors);
  return definitions;
}

// Two rules are left out: each anonymous operation gets its own error below, and fragments may be unused.
const RULES = specifiedRules.filter(
  (rule) => rule !== LoneAnonymousOperationRule && rule !== NoUnusedFragmentsRule,
);

function validateDocuments(document: DocumentNode): void {
  const anonymous = document.definitions
    .filter((node) => node.kind === Kind.OPERATION_DEFINITION)
    .filter(({ name }) => !name)
    .map((node) => new GraphQLError('The operation has no name.', { nodes: node }));
  throwIfAny([...anonymous, ...validate(schema, document, RULES)]);
}

/** Returns a sort key that puts operations before fragments and sorts each by name, as Apollo does. */
const sortKeyOf = (node: DefinitionNode): string => {
  const name = 'name' in node ? node.name?.value : '';
  return `${node.kind === Kind.OPERATION_DEFINITION ? 0 : 1} ${name}`;
};

/**
 * Returns a map from the SHA-256 of each operation's document to the document. A document contains only the fragments
 * that its operation uses.
 */
function toManifest(definitions: readonly DefinitionNode[]): Record<string, string> {
  const document: DocumentNode = {
    kind: Kind.DOCUMENT,
    definitions: definitions.toSorted((a, b) => (sortKeyOf(a) < sortKeyOf(b) ? -1 : 1)),
  };
  validateDocuments(document);
  const texts = Object.values(separateOperations(document)).map(print);
  return Object.fromEntries(texts.map((text) => [hashOf(text), text]));
}

function writeManifest(folder: string | undefined, file = 'trusted-documents.json'): string {
  if (!folder) throw new ManifestError('Usage: npm run manifest -- <folder> [file]');
  const manifest = toManifest(readDefinitions(folder));
  const count = Object.keys(manifest).length;
  if (count === 0)
    throw new ManifestError(`The .graphql and .gql files in ${folder} contain no operation.`);
  writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`);
  return `Trusted documents in ${file}: ${count}`;
}

/** The program's output and exit code. */
interface End {
  readonly code: 0 | 1;
  readonly message: string;
}

/** Writes the manifest of the documents in a folder. The parameters are the program's arguments. */
export function makeManifest(folder?: string, file?: string): End {
  try {
    return { code: 0, message: writeManifest(folder, file) };
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error;
    return { code: 1, message: error.message };
  }
}

if (process.argv[1] === import.meta.filename) {
  const { code, message } = makeManifest(...process.argv.slice(2));
  (code === 0 ? process.stdout : process.stderr).write(`${message}\n`);
  process.exitCode = code;
}
