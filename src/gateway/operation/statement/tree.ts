import type { Sql } from 'sql-template-tag';

import type { TextSamples } from '../../database/text-samples.ts';
import type { Window } from '../../list/window.ts';
import type { Table } from '../../model/stored-table.ts';
import type { ListValue } from '../../schema/field-extensions.ts';
import type { VariableValues } from '../accept/field-cost.ts';
import type { SqlValue } from './json-sql.ts';

/** An object, with its members in the order of the document. */
export interface ObjectNode {
  readonly kind: 'object';
  readonly members: readonly (readonly [key: string, value: Node])[];
}

/** A value of a row: a column, or a value computed from the row and the row around it. */
export interface Value extends SqlValue {
  readonly kind: 'value';
}

/** The alias of a row, such as t1. */
export interface RowAlias {
  readonly alias: string;
  /** The row's table; undefined for the row of an aggregate, and for a group. */
  readonly table?: Table<never>;
}

/** The alias of a table's row. */
export interface Stored extends RowAlias {
  readonly table: Table<never>;
}

/** The row whose id is in an argument, null if it does not exist; or the rows of a SELECT: of an aggregate, or of groups. */
export interface RowNode extends RowAlias {
  readonly kind: 'row';
  /** Returns the id, or the SELECT. Takes coerced variables. @throws the error of an argument, GraphQLError */
  readonly toSql: (variables: VariableValues) => Sql;
  readonly json: ObjectNode;
}

/** The row that the row around it refers to, as an object or as one of its values. */
export interface RelatedNode extends Stored {
  readonly kind: 'related';
  readonly id: string;
  readonly json: ObjectNode | Value;
  /** The JSON if the row does not exist. */
  readonly missing: string;
}

/** A list: its items, pageInfo and totalCount, as far as they are selected. */
export interface List extends Stored {
  readonly kind: 'list';
  /** Takes coerced variables. @throws InvalidInput, InvalidId, InputError with INVALID_CURSOR, GraphQLError */
  readonly toWindow: (variables: VariableValues, samples: TextSamples) => Window;
  readonly json: ObjectNode | ListValue;
  /** Whether the page is read. If not, only the number of all rows is selected. */
  readonly reads: boolean;
  /** Whether the page's rows are numbered, and one more is read, for `pageInfo`. */
  readonly isNumbered: boolean;
  readonly counts: boolean;
  /** Whether several values are the number of all rows, which is then read once. */
  readonly sharesCount: boolean;
  /** Whether the page's size is a parameter. A list of children would take an eighth more time with one. */
  readonly hasLimit: boolean;
}

/** The array of a list's items. */
export interface Items {
  readonly kind: 'items';
  readonly item: ObjectNode;
}

/** A value in the JSON. A constant is the same for every row: `__typename`. */
export type Node =
  | { readonly kind: 'constant'; readonly json: string }
  | ObjectNode
  | Value
  | RowNode
  | RelatedNode
  | List
  | Items
  | ListValue;

/** What a query selects, for given values in @skip and @include. */
export interface Tree {
  readonly root: ObjectNode;
  /** The nodes whose arguments are read for each request: these, and the lists. */
  readonly rows: readonly RowNode[];
  readonly lists: readonly List[];
  /** The number of related rows, lists, groups and aggregates. */
  readonly relations: number;
}

/** The arguments of one request, as SQL. */
export interface StatementArguments {
  /** The id of each row, and the SELECT of each aggregate. */
  readonly pieceOf: ReadonlyMap<RowNode, Sql>;
  readonly windowOf: ReadonlyMap<List, Window>;
  /** The ids, the aggregates, and the conditions and sizes of lists. Each is in the text, at least once. */
  readonly pieces: ReadonlySet<Sql>;
  /** The values of the parameters, in the order of the pieces. */
  readonly values: readonly unknown[];
  /** The types of the parameters in PostgreSQL; undefined for a type whose values can't be in an array. */
  readonly types: readonly (string | undefined)[];
  /** Identifies the text: arguments with the same key produce the same statement. */
  readonly key: string;
}
