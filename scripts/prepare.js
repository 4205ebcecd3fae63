// Creates the files that are not in Git. `npm ci` and `npm pack` run this.
import { execSync } from 'node:child_process';
import { existsSync } from 'node:fs';

// The pet store, and the second store of the tests.
const SCHEMAS = ['prisma/schema.prisma', 'test/gateway/bookshop/schema.prisma'];

// Without development dependencies, the programs built earlier are used.
if (existsSync('node_modules/tsx')) {
  for (const schema of SCHEMAS) {
    execSync(`prisma generate --schema ${schema}`, { stdio: 'inherit' });
  }
  execSync('tsx scripts/make-template.ts', { stdio: 'inherit' });
  execSync('node build.js', { stdio: 'inherit' });
}
