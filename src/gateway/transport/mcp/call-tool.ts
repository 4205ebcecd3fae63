import type { CallToolResult, JSONObject } from '@modelcontextprotocol/server';
import type { FastifyReply } from 'fastify';
import type { ExecutionResult } from 'graphql';

import type { ErrorCode } from '../../contract/error-codes.ts';
import { InvalidInput, type Issue } from '../../contract/gateway-error.ts';
import { toFailure } from '../../operation/client-errors.ts';
import { isObject, type JsonObject } from '../../operation/json-text.ts';
import { type EndpointOptions, isStream } from '../../operation/perform.ts';
import { onErrorIn } from '../http/params.ts';
import type { ToolSchema } from './json-schema.ts';
import type { Tool } from './tools.ts';

/** Whether null is a value of its own: the schemas of other optional values don't have it. */
const takesNull = ({ anyOf = [] }: JSONObject): boolean =>
  Array.isArray(anyOf) && anyOf.some((one) => Object(one).type === 'null');

const issueAt = (path: readonly string[], message: string): InvalidInput =>
  new InvalidInput([{ path, message }]);

const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

/**
 * Returns a value without nulls and empty lists in place of optional values: many models and clients send them for what
 * they omit. A condition with an empty list would match nothing.
 * @throws InvalidInput if an object or a list is sent as a string of JSON, which models do, too
 */
function omitEmpty(value: unknown, schema: JSONObject, path: readonly string[]): unknown {
  // What the tool does not describe is rejected later. It may be nested too deeply for this function.
  if (Object.keys(schema).length === 0) return value;
  const { type, items, properties, required } = schema;
  if (type === 'array' && !Array.isArray(value)) {
    if (typeof value === 'string' && /^\s*\[.*\]\s*$/s.test(value)) {
      throw issueAt(path, 'must be a list, not a string that contains one as JSON.');
    }
    // GraphQL makes a list of it.
    return omitEmpty(value, Object(items), path);
  }
  if (Array.isArray(value)) {
    return value.map((item, index) => omitEmpty(item, Object(items), [...path, String(index)]));
  }
  if (type === 'object' && typeof value === 'string') {
    throw issueAt(path, 'must be an object, not a string, such as one that contains it as JSON.');
  }
  if (typeof value !== 'object' || value === null) return value;
  const schemas = new Map<string, JSONObject>(Object.entries(Object(properties)));
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) => {
      const part = schemas.get(name) ?? {};
      const isRequired = [required].flat().includes(name);
      const isLeftOut =
        inner === null
          ? !takesNull(part)
          : part['type'] === 'array' && isEmpty(inner) && !isRequired;
      return isLeftOut && schemas.has(name)
        ? []
        : [[name, omitEmpty(inner, part, [...path, name])]];
    }),
  );
}

/** Returns the variables of a tool's operation. @throws InvalidInput, also for a name that GraphQL would ignore */
function toVariables(
  args: Readonly<Record<string, unknown>>,
  schema: ToolSchema,
): Record<string, unknown> {
  const { properties, required } = schema;
  const unknown = Object.keys(args).find((name) => !Object.hasOwn(properties, name));
  if (unknown !== undefined) {
    const known = Object.keys(properties).join(', ') || 'none';
    throw issueAt([unknown], `is not an argument. The arguments are: ${known}.`);
  }
  const variables: Record<string, unknown> = Object(omitEmpty(args, schema, []));
  const missing = required.filter((name) => !Object.hasOwn(variables, name));
  if (missing.length === 0) return variables;
  throw new InvalidInput(
    missing.map((name): Issue => {
      const { description = '' } = Object(properties[name]);
      return { path: [name], message: `is required. ${description}`.trim() };
    }),
  );
}

const REPEAT = 'Call again with exactly the same arguments, including the idempotencyKey.';
const FEWER = 'Ask for fewer items.';
const CORRECT = 'Correct the arguments and call again.';

/** What a model can do about an error whose message does not say so. */
const ADVICE: Readonly<Record<string, string>> = {
  INVALID_ID: CORRECT,
  INVALID_INPUT: CORRECT,
  INVALID_CURSOR: 'Pass a cursor from an earlier result unchanged, or none.',
  QUERY_TOO_COSTLY: FEWER,
  RESPONSE_TOO_LARGE: FEWER,
  IDEMPOTENCY_CONFLICT:
    'To repeat a write, send all its arguments unchanged. For another write, choose a new idempotencyKey.',
  INTERNAL_SERVER_ERROR: `${REPEAT} If that fails, too, tell the user.`,
  SERVICE_UNAVAILABLE: REPEAT,
  OUTCOME_UNKNOWN: REPEAT,
} satisfies Partial<Record<ErrorCode, string>>;

const toText = (text: string) => ({ type: 'text' as const, text });

const messageIn = (data: object): string | undefined =>
  Object.values(data)
    .map((value: unknown): unknown => Object(value).message)
    .find((message) => typeof message === 'string');

/** Returns the line of an error. Messages of graphql-js may have no full stop. */
const toLine = (code: string, message = '', ...advice: (string | undefined)[]): string =>
  [`${code}: ${message.replace(/[^.?]$/, '$&.')}`, ...advice.filter(Boolean)].join(' ');

/** Returns the data, or the errors with what to do. @param codes the codes of all errors, including those in the data */
function toToolResult(
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

/** Calls a tool with the `params` of a message. Whatever fails becomes an error in its result. */
export async function callTool(
  { executor, log }: EndpointOptions,
  { text, definition }: Tool,
  { arguments: args, _meta: meta }: JsonObject,
  { raw: res, request: { raw: req, caller, requestLog } }: FastifyReply,
): Promise<CallToolResult> {
  let result: ExecutionResult;
  try {
    const variables = toVariables(isObject(args) ? args : {}, definition.inputSchema);
    const params = { variables, onError: onErrorIn(isObject(meta) ? meta : {}) };
    // Clients of this protocol can't send back the position of a write.
    const request = { req, res, requestLog, caller, params, text, readsCurrent: true };
    const results = await executor(request);
    if (isStream(results)) throw new Error('A tool subscribes.');
    result = results;
  } catch (error) {
    result = toFailure(error, log, requestLog);
  }
  return toToolResult(result, requestLog.codes);
}
