// Creates what Git does not have. `npm ci` and `npm pack` run this.
import { execSync } from 'node:child_process';
import { existsSync } from 'node:fs';

// Without the development dependencies, the programs that were built before are used.
if (existsSync('node_modules/tsx')) {
  execSync('prisma generate', { stdio: 'inherit' });
  execSync('tsx scripts/make-template.ts', { stdio: 'inherit' });
  execSync('node build.js', { stdio: 'inherit' });
}
