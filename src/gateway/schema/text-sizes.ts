import { getNamedType, type GraphQLSchema, isScalarType, specifiedScalarTypes } from 'graphql';

import { KINDS } from '../kinds/kinds.ts';
import { MAX_SORTED_LENGTH } from '../list/sorts.ts';
import type { Model } from '../model/stored-table.ts';
import { TEXT_LENGTH } from './cost-directives.ts';
import { fieldsIn } from './fields-in.ts';

export type Tables = Readonly<Record<string, Model>>;

// A control character is written as `\u0001`; no other character takes more bytes.
const BYTES_PER_CHARACTER = 6;
const QUOTES_BYTES = 2;
// Room for the sort field's name and an id.
const POSITION_BYTES = 100;

/** The maximum size of a cursor. It contains, as JSON in base64, the value that its list is sorted by. */
export const CURSOR_BYTES = Math.ceil(
  ((BYTES_PER_CHARACTER * MAX_SORTED_LENGTH + POSITION_BYTES) * 4) / 3,
);

// The scalars whose values are short.
const SHORT = new Set(
  [
    ...specifiedScalarTypes.map(({ name }) => name),
    ...Object.values(KINDS).map(({ graphql }) => graphql),
  ].filter((name) => name !== 'String'),
);

/**
 * Sets the maximum size of each field that exposes a text column, so that the size of every response can be estimated.
 * Also sets the cost of a field whose strings can be long.
 * @throws Error if a string, or a scalar of the store's own, has no maximum size
 */
export function limitTexts(schema: GraphQLSchema, tables: Tables): void {
  for (const { type, field } of fieldsIn(schema)) {
    const named = getNamedType(field.type);
    const { maxBytes, pothosExposedField = '', directives } = field.extensions;
    const column = tables[type.name]?.columns[pothosExposedField];
    if (maxBytes !== undefined || !isScalarType(named)) continue;
    if (SHORT.has(named.name) && column?.type !== 'String') continue;
    const maxLength = column?.maxLength;
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
