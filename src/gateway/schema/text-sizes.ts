import {
  getNamedType,
  type GraphQLSchema,
  GraphQLString,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
} from 'graphql';

import { TEXT_LENGTH } from './cost-directives.ts';

/** What prisma/tables.js wrote of a column. */
interface Column {
  readonly type: string;
  readonly maxLength: number | null;
  readonly isIndexed: boolean;
}

/** What it wrote of the models of a store. */
export type Tables = Readonly<
  Record<string, { readonly columns: Readonly<Record<string, Column>> }>
>;

declare module 'graphql' {
  interface GraphQLFieldExtensions<_TSource, _TContext, _TArgs> {
    /** The size of the largest value as JSON in UTF-8, if it is a text. A text column has that of its length. */
    readonly maxBytes?: number;
  }
}

// A control character is written as `\u0001`; no other takes more.
const BYTES_PER_CHARACTER = 6;
const QUOTES_BYTES = 2;
// The name of the order and an id.
const POSITION_BYTES = 100;
// More than PostgreSQL stores: each response is measured.
const UNLIMITED = 1_000_000_000;

/** Returns the size of the largest cursor: the longest text that a list can be sorted by, as JSON in base64. */
export function cursorBytes(tables: Tables): number {
  const columns = Object.values(tables).flatMap((table) => Object.values(table.columns));
  const lengths = columns
    .filter(({ type, isIndexed }) => type === 'String' && isIndexed)
    .map(({ maxLength }) => maxLength ?? UNLIMITED);
  return Math.ceil(((BYTES_PER_CHARACTER * Math.max(0, ...lengths) + POSITION_BYTES) * 4) / 3);
}

/** The fields of a schema that are texts, with their types. */
function* textsIn(schema: GraphQLSchema) {
  for (const type of Object.values(schema.getTypeMap())) {
    if (isIntrospectionType(type) || !(isObjectType(type) || isInterfaceType(type))) continue;
    for (const field of Object.values(type.getFields())) {
      if (getNamedType(field.type) === GraphQLString) yield { type, field };
    }
  }
}

/**
 * Gives each field that is a column of text the size of its largest value, and a cost if it is long: so that the
 * size of every response has a bound.
 * @throws Error if a text has no limit
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
