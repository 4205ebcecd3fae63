import { z } from 'zod';

import { Id } from '../contract/parse.ts';
import { isInfinite } from '../kinds/times.ts';
import type { Resource, RestLifecycle, RestOperation } from '../store.ts';
import type { Repository } from '../tables/repository.ts';
import type { Field } from '../tables/stored-table.ts';
import { valueIn } from '../tables/table.ts';
import { lowerFirst, upperFirst } from '../tables/words.ts';

/** The properties that distinguish one row route from another. */
interface RowRoute<Row> {
  /**
   * An example of a returned row. The route returns only the fields of the example, so fields that are added later
   * appear only in GraphQL.
   */
  readonly example: { readonly [Name in keyof Row]?: unknown };
  readonly lifecycle?: Partial<RestLifecycle>;
  /** Differences from the query that replaces the route, besides those that all types have in common. */
  readonly differences?: readonly string[];
}

/**
 * Writes a value as JSON, including int64 ids, which JSON.stringify rejects.
 * @throws Error for null, and for the value of an enum that only a later release knows
 */
function toJson({ column, kind }: Field, value: unknown): string {
  const isUnknown = kind.values?.includes(String(value)) === false;
  if (value === null || isUnknown) throw new Error(`${column} must not be ${String(value)}.`);
  if (typeof value === 'bigint') return String(value);
  return JSON.stringify(kind.scalar ? kind.scalar.serialize(value) : value);
}

function fieldsIn<Row extends object>(rows: Repository<Row>, example: object): Field[] {
  const fields = new Map<string, Field>(Object.entries(rows.fields));
  return Object.keys(example).flatMap((name) => fields.get(name) ?? []);
}

/** Writes a row as JSON. A nullable field is left out if it is null or an infinite time. */
function writeRow(fields: readonly Field[], row: object): string {
  const members = fields.flatMap((field) => {
    const value = valueIn(row, field.name);
    const isAbsent = field.isNullable && (value === null || isInfinite(value));
    return isAbsent ? [] : [`"${field.name}":${toJson(field, value)}`];
  });
  return `{${members.join(',')}}`;
}

/** Returns the rule of a field with its description. An enum is a schema of its own, with a description of its own. */
function describeRule({ description, rule }: Field): Field['rule'] {
  return rule instanceof z.ZodEnum || !description ? rule : rule.describe(description);
}

function toResource(fields: readonly Field[], description: string, example: object): Resource {
  const rules = fields.map((field) => {
    const rule = describeRule(field);
    return [field.name, field.isNullable ? rule.optional() : rule];
  });
  return { rule: z.strictObject(Object.fromEntries(rules)), description, example };
}

/** Creates a route such as `GET /books/{bookId}`, which returns a row by its id. */
export function rowRoute<Row extends object>(
  rows: Repository<Row>,
  { example, lifecycle, differences = [] }: RowRoute<Row>,
): RestOperation<z.ZodObject<Record<string, typeof Id>>> & { readonly resource: Resource } {
  const { words, type, notFound, required } = rows;
  const one = lowerFirst(type);
  const name = `${one}Id`;
  const fields = fieldsIn(rows, example);
  const selection = fields.map((field) => `    ${field.name}`).join('\n');
  const params = z.object({
    [name]: Id.meta({ description: `The id of the ${words.short}.`, examples: [1] }),
  });
  return {
    name: `GET /${rows.name}/{${name}}`,
    lifecycle: { stability: 'stable', successor: `Query.${one}`, ...lifecycle },
    tag: { name: upperFirst(words.list), description: `The ${words.list} in the store.` },
    schema: {
      operationId: `get${type}`,
      summary: `Get ${words.one}`,
      description: `Returns one ${words.short}.`,
      params,
    },
    result: { resource: type, description: `The ${words.short}.`, hasTag: true },
    resource: toResource(fields, rows.description, example),
    errors: ['INVALID_ID', notFound.kind.code],
    migration: {
      request: `/${rows.name}/1`,
      query: `query Get${type} {\n  ${one}(id: "1") {\n${selection}\n  }\n}`,
      differences: [
        'Ids are strings: "1".',
        `If the ${words.short} does not exist, the result is null instead of a 404.`,
        ...differences,
      ],
    },
    get: async (source, request) => {
      const { [name]: id = 0n } = request.params;
      return { json: writeRow(fields, await required.load(source, id)) };
    },
  };
}
