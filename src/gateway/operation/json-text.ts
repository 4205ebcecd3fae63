import type { ExecutionResult } from 'graphql';

/** An object of JSON, which a list is not. */
export type JsonObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The data of a result, already written as JSON. */
export class JsonText {
  // Makes this class assignable to the type of a result's data.
  readonly [field: string]: unknown;
  readonly text: string;
  readonly #data: unknown;

  /** `data` is what was written, if it is at hand. */
  constructor(text: string, data?: unknown) {
    this.text = text;
    this.#data = data;
  }

  toJSON(): unknown {
    return this.#data ?? JSON.parse(this.text);
  }
}

export function stringifyResult(result: ExecutionResult): string {
  const { data, ...others } = result;
  if (!(data instanceof JsonText)) return JSON.stringify(result);
  const rest = JSON.stringify(others);
  return rest === '{}' ? `{"data":${data.text}}` : `{"data":${data.text},${rest.slice(1)}`;
}

/** Converts the result of an execution, synchronously if it is not a promise. */
export function mapResult(
  result: ExecutionResult | Promise<ExecutionResult>,
  convert: (result: ExecutionResult) => ExecutionResult,
): ExecutionResult | Promise<ExecutionResult> {
  return result instanceof Promise ? result.then(convert) : convert(result);
}

/** Whether a value is larger than `maxBytes` as JSON in UTF-8. Stops measuring above that size. */
export function isLargerThan(value: unknown, maxBytes: number): boolean {
  if (value instanceof JsonText) return Buffer.byteLength(value.text) > maxBytes;
  let left = maxBytes;
  // A response repeats its keys, and may repeat a long string.
  const bytesOf = new Map<string, number>();
  const measureText = (text: string): void => {
    const bytes = bytesOf.get(text) ?? Buffer.byteLength(JSON.stringify(text));
    bytesOf.set(text, bytes);
    left -= bytes;
  };
  const measure = (part: unknown): void => {
    if (typeof part === 'string') return measureText(part);
    if (typeof part !== 'object' || part === null) {
      left -= String(part).length;
      return;
    }
    const entries = Object.entries(part);
    // The brackets and commas.
    left -= Math.max(2, entries.length + 1);
    for (const [key, inner] of entries) {
      if (left < 0) return;
      if (!Array.isArray(part)) {
        measureText(key);
        // The colon.
        left -= 1;
      }
      measure(inner);
    }
  };
  measure(value);
  return left < 0;
}
