import { errorOf } from '../gateway/index.ts';

/** Returns the class of errors that may be about one line of several: `line` is its index, from 0; otherwise null. */
export const lineErrorOf = (code: string, status: number, description: string) =>
  class extends errorOf(code, status, description, (message: string) => message) {
    readonly line: number | null;

    constructor(message: string, line: number | null) {
      super(message);
      this.line = line;
    }
  };
