import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Whether this is the project `long`. */
    isLong: boolean;
  }
}

/** Returns the second number in the project `long`, and the first in the others. */
export const rounds = (few: number, many: number): number => (inject('isLong') ? many : few);
