import { execFileSync } from 'node:child_process';

/** Builds the programs, which some tests start as an operator does. */
export function setup(): void {
  execFileSync('npm', ['run', '--silent', 'build'], { stdio: 'inherit' });
}
