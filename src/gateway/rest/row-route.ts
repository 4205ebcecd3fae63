import etag from 'etag';
import { z } from 'zod';

import { Id, parse } from '../contract/parse.ts';
import { isUnchanged } from '../http/etag.ts';
import type { Resource, RestOperation } from '../store.ts';
import type { Repository } from '../tables/repository.ts';
import type { Field } from '../tables/stored-table.ts';

/** What a route of one row says for itself. */
interface RowRoute extends Pick<RestOperation, 'lifecycle' | 'tag'> {
  /** With the id as its only parameter: `/books/{bookId}`. */
  readonly path: string;
  /** The row as it is returned, with the fields of the rule: those that are added later, only GraphQL has. */
  readonly resource: Resource & { readonly rule: z.ZodObject };
  readonly migration: Pick<RestOperation['migration'], 'query' | 'differences'>;
}

/** Writes a value as JSON: ids exactly, which JSON.stringify cannot do with int64. */
function toJson({ kind }: Field, value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  return JSON.stringify(kind.scalar ? kind.scalar.serialize(value) : value);
}

/** Creates `GET` of the row with an id. A value that is null is omitted. */
export function rowRoute<Row extends object>(
  rows: Repository<Row>,
  { path, resource, migration, lifecycle, tag }: RowRoute,
): RestOperation {
  const { words, type, notFound, required } = rows;
  const known = Object.entries<Field>(rows.fields);
  const fields = Object.keys(resource.rule.shape).map((name) => {
    const field = known.find(([key]) => key === name)?.[1];
    if (!field) throw new Error(`${type} has no field ${name}.`);
    return field;
  });
  const [, name = ''] = /\{(\w+)\}/.exec(path) ?? [];
  const parameter = Id.meta({ description: `The id of the ${words.short}.`, example: 1 });
  const parameters = z.object({ [name]: parameter });
  const write = (row: Row): string => {
    const values = new Map<string, unknown>(Object.entries(row));
    const members = fields.flatMap((field) => {
      const value = values.get(field.name);
      return value === null ? [] : [`"${field.name}":${toJson(field, value)}`];
    });
    return `{${members.join(',')}}`;
  };
  return {
    name: `GET ${path}`,
    id: `get${type}`,
    lifecycle,
    tag,
    summary: `Get ${words.one}`,
    description: `Returns one ${words.short}.`,
    parameters: { path: parameters, query: z.object({}) },
    result: {
      resource: type,
      description: `The ${words.short}.`,
      headers: { ETag: '"3d-QtwTo+1ee1ReuILwo4lZiZROY1c"', 'Cache-Control': 'no-cache' },
    },
    resources: { [type]: resource },
    errors: ['INVALID_ID', notFound.kind.code],
    migration: { ...migration, request: path.replace(/\{\w+\}/, '1') },
    get: async ({ loaders }, request) => {
      const { [name]: id = 0n } = parse(parameters, request.parameters);
      const body = write(await required.load(loaders, id));
      const headers = { ETag: etag(body), 'Cache-Control': 'no-cache' };
      return isUnchanged(request.headers, headers.ETag)
        ? { status: 304, headers, body: '' }
        : { status: 200, headers, body };
    },
  };
}
