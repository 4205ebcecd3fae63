// Creates the generated files, which are not in Git. `npm ci` and `npm pack` run this.
import { execSync } from 'node:child_process';
import { existsSync } from 'node:fs';

// The data models of the pet store and of the tests' second store.
const SCHEMAS = ['prisma/schema.prisma', 'test/gateway/bookshop/schema.prisma'];

// Without development dependencies, nothing is created: the programs that were built earlier are used.
if (existsSync('node_modules/tsx')) {
  for (const schema of SCHEMAS) {
    execSync(`prisma generate --schema ${schema}`, { stdio: 'inherit' });
  }
  execSync('tsx scripts/make-template.ts', { stdio: 'inherit' });
  execSync('node build.js', { stdio: 'inherit' });
}
