import {
  getNamedType,
  type GraphQLSchema,
  GraphQLString,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
} from 'graphql';

import { MAX_SORTED_LENGTH } from '../tables/sorts.ts';
import type { Model } from '../tables/stored-table.ts';
import { TEXT_LENGTH } from './cost-directives.ts';

export type Tables = Readonly<Record<string, Model>>;

declare module 'graphql' {
  interface GraphQLFieldExtensions<_TSource, _TContext, _TArgs> {
    /** The maximum size of a string as JSON in UTF-8. For a text column, it is derived from the column's length. */
    readonly maxBytes?: number;
  }
}

// A control character is written as `\u0001`; no other character takes more bytes.
const BYTES_PER_CHARACTER = 6;
const QUOTES_BYTES = 2;
// Room for the sort field's name and an id.
const POSITION_BYTES = 100;

/** The maximum size of a cursor. It contains, as JSON in base64, the value that its list is sorted by. */
export const CURSOR_BYTES = Math.ceil(
  ((BYTES_PER_CHARACTER * MAX_SORTED_LENGTH + POSITION_BYTES) * 4) / 3,
);

/** Yields the string fields of a schema, with their types. */
function* textsIn(schema: GraphQLSchema) {
  for (const type of Object.values(schema.getTypeMap())) {
    if (isIntrospectionType(type) || !(isObjectType(type) || isInterfaceType(type))) continue;
    for (const field of Object.values(type.getFields())) {
      if (getNamedType(field.type) === GraphQLString) yield { type, field };
    }
  }
}

/**
 * Sets the maximum size of each field that exposes a text column, so that the size of every response can be estimated.
 * Also sets the cost of a field whose strings can be long.
 * @throws Error if a string has no maximum length
 */
export function limitTexts(schema: GraphQLSchema, tables: Tables): void {
  for (const { type, field } of textsIn(schema)) {
    const { maxBytes, pothosExposedField = '', directives } = field.extensions;
    if (maxBytes !== undefined) continue;
    const maxLength = tables[type.name]?.columns[pothosExposedField]?.maxLength;
    if (maxLength == null) {
      throw new Error(
        `${type.name}.${field.name} needs a column with a length, such as @db.VarChar(255), or extensions.maxBytes.`,
      );
    }
    const weight = Math.ceil(maxLength / TEXT_LENGTH);
    field.extensions = {
      ...field.extensions,
      maxBytes: BYTES_PER_CHARACTER * maxLength + QUOTES_BYTES,
      ...(weight > 1 && { directives: { cost: { weight: String(weight) }, ...directives } }),
    };
  }
}
