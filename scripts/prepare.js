// Creates what the build needs and Git does not have. `npm ci` runs this.
import { execSync } from 'node:child_process';
import { existsSync } from 'node:fs';

// `npm ci --omit=dev` installs only what the built programs need, which is nothing of this.
if (existsSync('node_modules/prisma')) {
  execSync('prisma generate', { stdio: 'inherit' });
  execSync('tsx scripts/make-template.ts', { stdio: 'inherit' });
}
