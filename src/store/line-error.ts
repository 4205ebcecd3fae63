import { errorOf } from '../gateway/index.ts';

/** Returns the class of errors that may be about one line of several: `line` is its index, from 0; otherwise null. */
export const lineErrorOf = (...kind: Parameters<typeof errorOf>) =>
  class extends errorOf(...kind) {
    readonly line: number | null;

    constructor(message: string, line: number | null) {
      super(message);
      this.line = line;
    }
  };
