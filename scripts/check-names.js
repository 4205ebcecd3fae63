// Requires that no two files of src/ declare a type with the same name: one noun, one thing.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const DECLARATION = /^(?:export )?(?:abstract )?(?:interface|type|class|enum) (\w+)/gm;

const files = readdirSync('src', { recursive: true, withFileTypes: true })
  .map((entry) => join(entry.parentPath, entry.name))
  .filter((file) => file.endsWith('.ts') && !file.includes('generated'));

/** @type {Map<string, string[]>} */
const filesOf = new Map();
for (const file of files) {
  for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(DECLARATION)) {
    filesOf.set(name, [...(filesOf.get(name) ?? []), file]);
  }
}
for (const [name, declaring] of filesOf) {
  if (declaring.length === 1) continue;
  process.stderr.write(`The type ${name} is declared in ${declaring.join(' and ')}.\n`);
  process.exitCode = 1;
}
