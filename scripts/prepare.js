// Creates the generated files, which are not in Git. `npm ci` and `npm pack` run this.
import { execSync } from 'node:child_process';
import { existsSync } from 'node:fs';

// Without development dependencies, nothing is created: the programs that were built earlier are used.
if (existsSync('node_modules/tsx')) {
  execSync('tsx scripts/make-template.ts', { stdio: 'inherit' });
  // Generates code, too.
  execSync('node build.js', { stdio: 'inherit' });
}
