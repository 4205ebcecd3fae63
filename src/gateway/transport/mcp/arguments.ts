import type { JSONObject } from '@modelcontextprotocol/server';

import { InvalidInput, type Issue } from '../../contract/gateway-error.ts';
import type { ObjectSchema } from './json-schema.ts';

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
function read(value: unknown, schema: JSONObject, path: readonly string[]): unknown {
  const { type, items, properties, required } = schema;
  if (type === 'array' && !Array.isArray(value)) {
    if (typeof value === 'string' && /^\s*\[.*\]\s*$/s.test(value)) {
      throw issueAt(path, 'must be a list, not a string that contains one as JSON.');
    }
    // GraphQL makes a list of it.
    return read(value, Object(items), path);
  }
  if (Array.isArray(value)) {
    return value.map((item, index) => read(item, Object(items), [...path, String(index)]));
  }
  if (type === 'object' && typeof value === 'string') {
    throw issueAt(path, 'must be an object, not a string, such as one that contains it as JSON.');
  }
  if (typeof value !== 'object' || value === null) return value;
  const schemas = new Map<string, JSONObject>(Object.entries(Object(properties)));
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) => {
      const of = schemas.get(name) ?? {};
      const isRequired = [required].flat().includes(name);
      const isLeftOut =
        inner === null ? !takesNull(of) : of['type'] === 'array' && isEmpty(inner) && !isRequired;
      return isLeftOut && schemas.has(name) ? [] : [[name, read(inner, of, [...path, name])]];
    }),
  );
}

/**
 * Returns the variables of a tool's operation. An unknown argument is rejected, because GraphQL would ignore it, and a
 * misspelt condition would match everything.
 * @throws InvalidInput
 */
export function readArguments(
  args: Readonly<Record<string, unknown>>,
  schema: ObjectSchema,
): Record<string, unknown> {
  const { properties, required } = schema;
  const unknown = Object.keys(args).find((name) => !Object.hasOwn(properties, name));
  if (unknown !== undefined) {
    const known = Object.keys(properties).join(', ') || 'none';
    throw issueAt([unknown], `is not an argument. The arguments are: ${known}.`);
  }
  const variables: Record<string, unknown> = Object(read(args, schema, []));
  const missing = required.filter((name) => !Object.hasOwn(variables, name));
  if (missing.length === 0) return variables;
  throw new InvalidInput(
    missing.map((name): Issue => {
      const { description = '' } = Object(properties[name]);
      return { path: [name], message: `is required. ${description}`.trim() };
    }),
  );
}
