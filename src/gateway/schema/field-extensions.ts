import type { ZodType } from 'zod';

import type { ListSql } from '../list/pages.ts';
import type { Table } from '../model/stored-table.ts';

export type FieldArguments = Readonly<Record<string, unknown>>;

/**
 * How a field is written as SQL in queries that are compiled to one statement (operation/statement/). A field that Pothos
 * exposes is read from its table's column. A query with any other field that has no FieldSql is executed by graphql-js.
 */
export type FieldSql =
  // The row whose id the field's arguments are read as.
  | { readonly kind: 'row'; readonly table: Table<never> }
  // The row of the SELECT that the field's arguments are read as; in a list, its rows, which are groups of the list's rows.
  // Its columns have the names of the type's fields.
  | { readonly kind: 'aggregate' }
  // A page of a list, or the number of its rows.
  | { readonly kind: 'list' | 'count'; readonly list: ListSql }
  // A value computed from the row, given its alias.
  | { readonly kind: 'value'; readonly value: (row: string) => string }
  // The global id of the row (schema/nodes.ts).
  | { readonly kind: 'nodeId' }
  | RelatedRow;

/** The row whose id is in a field of the parent row. */
interface RelatedRow {
  readonly kind: 'related';
  readonly table: Table<never>;
  readonly by: string;
  /**
   * SQL for a value computed from the row, given the aliases of the row and its parent. If omitted, the field is the
   * row itself.
   */
  readonly value?: (row: string, parent: string) => string;
  /** The JSON of the value if the row does not exist. */
  readonly otherwise?: string;
}

/** The FieldSql of these kinds. */
export type SqlOf<Of extends FieldSql['kind']> = Extract<FieldSql, { kind: Of }>;

/** A value of a connection, an edge or `pageInfo`. */
export type ListValue =
  // The cursor of an item.
  | { readonly kind: 'cursor' }
  // The number of all rows, in total or in groups.
  | { readonly kind: 'count' }
  // Whether there are items after the page, or before it.
  | { readonly kind: 'hasMore'; readonly isAfter: boolean }
  // The cursor of the first or the last item; null if the page is empty.
  | { readonly kind: 'endCursor'; readonly isLast: boolean };

/** What a field of a connection, an edge or `pageInfo` is. */
export type ListPart =
  | ListValue
  // The array of items.
  | { readonly kind: 'items' }
  // An object whose fields are parts of the list too, or the item.
  | { readonly kind: 'object' };

export interface Cost {
  readonly weight: string;
}

export interface ListSize {
  readonly assumedSize: number;
  readonly slicingArguments: readonly string[];
  readonly sizedFields: readonly string[];
  readonly requireOneSlicingArgument: boolean;
}

declare module 'graphql' {
  interface GraphQLFieldExtensions<_TSource, _TContext, _TArgs> {
    readonly sql?: FieldSql;
    readonly listPart?: ListPart;
    /**
     * Reads the arguments, as an id for example: for the resolver, for a compiled statement, and before the execution, to
     * find invalid arguments.
     * @throws InvalidInput, InvalidId, InputError with INVALID_CURSOR
     */
    read?(args: object): unknown;
    readonly directives?: {
      readonly cost?: Cost;
      readonly listSize?: ListSize;
    };
    /** The maximum size of a string as JSON in UTF-8. For a text column, it is derived from the column's length. */
    readonly maxBytes?: number;
    /**
     * False if the resolver computes the value from data that it already has: the row, or the data that a mutation
     * wrote.
     */
    readonly ofOtherRow?: false;
    /** The scope that a mutation requires, or any operation that selects another field. */
    readonly scope?: string;
    /** Whether a mutation only adds: it changes and deletes nothing that callers have written. */
    readonly onlyAdds?: boolean | undefined;
    /** The property that the field exposes; set by Pothos (4.15), as is the next one. */
    readonly pothosExposedField?: string;
    /** What Prisma would have to read for the field. */
    readonly pothosPrismaSelect?: unknown;
  }

  interface GraphQLArgumentExtensions {
    readonly directives?: { readonly cost?: Cost };
    /** The strings in this input that are written to indexed columns. */
    readonly indexedTexts?: readonly string[];
    /** Whether null removes the stored value. Such an argument must be passed. */
    readonly nullRemoves?: boolean;
  }

  interface GraphQLInputFieldExtensions {
    readonly directives?: { readonly cost?: Cost };
    /** Whether null removes the stored value, which is kept if the field is omitted. */
    readonly nullRemoves?: boolean;
    /** Validates the value. */
    readonly rule?: ZodType;
  }
}
