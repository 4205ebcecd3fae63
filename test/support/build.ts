import { execFileSync } from 'node:child_process';

/** Builds the programs that some tests start. */
export function setup(): void {
  execFileSync('npm', ['run', '--silent', 'build'], { stdio: 'inherit' });
}
