import type { FieldNode, GraphQLField, GraphQLNamedType } from 'graphql';

import type { ListPage, NodeId, RowByArgument } from '../../builder/rows.ts';
import type { ListSource } from '../../database/loaders.ts';
import type { Table } from '../../database/table.ts';

/** The members of a JSON object, in order: response keys and their values. */
export type Members<Value> = readonly (readonly [key: string, value: Value | Constant])[];

/** A value that does not depend on the store, such as `__typename`. */
export interface Constant {
  readonly kind: 'constant';
  readonly json: string;
}

export interface Column {
  readonly kind: 'column';
  readonly name: string;
  readonly type: GraphQLNamedType;
  readonly isNullable: boolean;
}

/** A row by the id in a column of the row around it. */
export interface Related {
  readonly kind: 'related';
  readonly table: Table<never>;
  readonly by: string;
  readonly isNullable: boolean;
  readonly value: Members<RowValue> | Column;
}

/** A row by an argument. */
export interface Row {
  readonly kind: 'row';
  readonly table: Table<never>;
  readonly slot: number;
  readonly members: Members<RowValue>;
}

/** A page of a list. */
export interface Page {
  readonly kind: 'page';
  readonly source: ListSource;
  readonly slot: number;
  readonly members: Members<PagePart>;
}

export type PagePart =
  | { readonly kind: 'totalCount' }
  | { readonly kind: 'nodes'; readonly members: Members<RowValue> }
  | { readonly kind: 'edges'; readonly members: Members<EdgePart> }
  | { readonly kind: 'pageInfo'; readonly members: Members<PageInfoPart> };
export type EdgePart =
  | { readonly kind: 'cursor' }
  | { readonly kind: 'node'; readonly members: Members<RowValue> };
export interface PageInfoPart {
  readonly kind: 'hasNextPage' | 'hasPreviousPage' | 'startCursor' | 'endCursor';
}

export type RowValue = Column | NodeId | Related | Page;
export type RootValue = Row | Page;

/** A field whose arguments decide about the statement. */
export interface Slot {
  readonly field: GraphQLField<unknown, unknown>;
  readonly node: FieldNode;
  readonly sql: RowByArgument | ListPage;
  /** Whether the rows of the list are read, and whether they are counted. */
  readonly reads: boolean;
  readonly counts: boolean;
}

/** What a query selects with given values of its @skip and @include. */
export interface Selection {
  readonly members: Members<RootValue>;
  readonly slots: readonly Slot[];
  /** How many rows and pages of other tables it reads. */
  readonly relations: number;
}
