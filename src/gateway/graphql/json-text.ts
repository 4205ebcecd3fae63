import type { ExecutionResult } from 'graphql';

/** The data of a result, already as JSON. */
export class JsonText {
  // As any data has.
  readonly [field: string]: unknown;
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** For JSON.stringify of a value that contains it. */
  toJSON(): unknown {
    return JSON.parse(this.text);
  }
}

/** Returns a result as JSON. */
export function stringifyResult(result: ExecutionResult): string {
  const { data, ...others } = result;
  if (!(data instanceof JsonText)) return JSON.stringify(result);
  const rest = JSON.stringify(others);
  return rest === '{}' ? `{"data":${data.text}}` : `{"data":${data.text},${rest.slice(1)}`;
}
