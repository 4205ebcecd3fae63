// Generates the code that is derived from the data models, unless it is up to date. The build, `npm run dev` and
// `npm run prepare` run this.
import { execSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

// The data models of the pet store and of the tests' second store, with the folders of their code.
const MODELS = [
  ['prisma/schema.prisma', 'src/store/generated'],
  ['test/gateway/bookshop/schema.prisma', 'test/gateway/bookshop/generated'],
];
/** This file lists the installed versions of packages. */
export const INSTALLED = 'node_modules/.package-lock.json';

/** Returns a digest of files. Timestamps would miss deletions, and files restored with an older time. */
export function digestOf(files) {
  const hash = createHash('sha256');
  for (const file of files) {
    if (existsSync(file)) hash.update(`${file}\0`).update(readFileSync(file)).update('\0');
  }
  return hash.digest('hex');
}

process.chdir(join(import.meta.dirname, '..'));
// Without development dependencies, the code that was generated earlier is used. The container has no tests.
const models = existsSync('node_modules/prisma') ? MODELS : [];
for (const [schema, folder] of models) {
  if (!existsSync(schema)) continue;
  const file = join(folder, 'made-of');
  const digest = digestOf([schema, 'prisma/tables.js', INSTALLED]);
  if (existsSync(file) && readFileSync(file, 'utf8') === digest) continue;
  // If the model is rejected, some of the code has changed already.
  rmSync(file, { force: true });
  execSync(`npx prisma generate --schema ${schema}`, { stdio: 'inherit' });
  writeFileSync(file, digest);
}
