import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Whether this is `npm run test:long`. */
    isLong: boolean;
  }
}

/** Returns the first number in `npm test`, and the second in `npm run test:long`. */
export const rounds = (few: number, many: number): number => (inject('isLong') ? many : few);
