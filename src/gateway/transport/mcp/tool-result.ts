import type { CallToolResult } from '@modelcontextprotocol/server';
import type { ExecutionResult } from 'graphql';

import type { ErrorCode } from '../../contract/error-codes.ts';

const REPEAT = 'Call again with exactly the same arguments, including the idempotencyKey.';
const FEWER = 'Ask for fewer items.';
const CORRECT = 'Correct the arguments and call again.';

/** What a model can do about an error whose message does not say so. */
const ADVICE: Readonly<Record<string, string>> = {
  INVALID_ID: CORRECT,
  INVALID_INPUT: CORRECT,
  INVALID_CURSOR: 'Pass a cursor from a result of this tool unchanged, or none.',
  QUERY_TOO_COSTLY: FEWER,
  RESPONSE_TOO_LARGE: FEWER,
  IDEMPOTENCY_CONFLICT:
    'To repeat a write, send all its arguments unchanged. For another write, choose a new idempotencyKey.',
  INTERNAL_SERVER_ERROR: `${REPEAT} If that fails, too, tell the user.`,
  SERVICE_UNAVAILABLE: REPEAT,
  OUTCOME_UNKNOWN: REPEAT,
} satisfies Partial<Record<ErrorCode, string>>;

const toText = (text: string) => ({ type: 'text' as const, text });

/** Returns the message of the error in a mutation's data, if the document selects it. */
const messageIn = (data: object): string | undefined =>
  Object.values(data)
    .map((value: unknown): unknown => Object(value).message)
    .find((message) => typeof message === 'string');

/** Returns the line of an error. Messages of graphql-js may have no full stop. */
const toLine = (code: string, message = '', ...advice: (string | undefined)[]): string =>
  [`${code}: ${message.replace(/[^.?]$/, '$&.')}`, ...advice.filter(Boolean)].join(' ');

/**
 * Returns the result of a tool: the data, or the errors with their codes and what to do.
 * @param codes the codes of all errors, including those in the data
 */
export function toToolResult(
  { data, errors = [] }: ExecutionResult,
  codes: ReadonlySet<string> = new Set(),
): CallToolResult {
  const json = JSON.stringify(data ?? null);
  const structuredContent: Record<string, unknown> | null = JSON.parse(json);
  if (codes.size === 0 && structuredContent) return { content: [toText(json)], structuredContent };
  const lines = errors.map(({ message, extensions: { code } }) =>
    toLine(String(code), message, ADVICE[String(code)]),
  );
  if (lines.length === 0) {
    const message = messageIn(structuredContent ?? {});
    const toDataLine = (code: string) =>
      toLine(code, message, 'Nothing was changed.', ADVICE[code]);
    lines.push(...Array.from(codes, toDataLine));
  }
  const texts = [lines.join('\n'), ...(structuredContent ? [json] : [])];
  return { isError: true, content: texts.map(toText) };
}
