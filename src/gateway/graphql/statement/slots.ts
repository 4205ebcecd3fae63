import { type FieldNode, getArgumentValues, type GraphQLField } from 'graphql';
import sql, { type Sql } from 'sql-template-tag';

import { parseId } from '../../contract/parse.ts';
import type { ListPage, RowByArgument } from '../../schema/rows.ts';
import type { Window } from '../../tables/window.ts';

/** A field whose arguments determine the statement. */
export interface Slot {
  readonly field: GraphQLField<unknown, unknown>;
  readonly node: FieldNode;
  readonly sql: RowByArgument | ListPage;
  /** Whether the rows of the list are read, and whether they are counted. */
  readonly reads: boolean;
  readonly counts: boolean;
}

/** The arguments of a field as SQL. */
export interface SlotArguments {
  readonly window: Window | undefined;
  /** The id of a row, or the conditions of a list's count. */
  readonly filters: readonly Sql[];
  /** The conditions for the rows of a page. */
  readonly conditions: readonly Sql[];
}

/** The arguments of a field for one request. */
export interface PreparedSlot {
  readonly args: SlotArguments;
  /** Everything in the arguments that changes the statement's text. */
  readonly key: string;
  readonly values: readonly unknown[];
}

function argumentsOf(
  { field, node, sql: fieldSql, reads, counts }: Slot,
  variables: Record<string, unknown>,
): SlotArguments {
  const args = getArgumentValues(field, node, variables);
  if (fieldSql.kind === 'row') {
    const id = parseId(String(args[fieldSql.argument]), fieldSql.argument);
    return { window: undefined, filters: [sql`${id}`], conditions: [] };
  }
  const window = fieldSql.source.toWindow(args);
  // Unused conditions are omitted, because PostgreSQL can't infer the type of a parameter that is missing from the
  // text.
  return {
    window,
    filters: counts ? window.filters : [],
    conditions: reads ? window.conditions : [],
  };
}

const keyOf = ({ window, filters, conditions }: SlotArguments): string =>
  [
    window?.size,
    window?.backwards,
    window?.hasAfter,
    window?.hasBefore,
    window?.order.sql,
    window?.planning,
    window?.load,
    ...filters.map((filter) => filter.sql),
    ...conditions.map((condition) => condition.sql),
  ].join('\n');

/**
 * Prepares a slot for coerced variables.
 * @throws the error of an argument that is rejected
 */
export function prepareSlot(slot: Slot, variables: Record<string, unknown>): PreparedSlot {
  const args = argumentsOf(slot, variables);
  const values = [...args.filters, ...args.conditions].flatMap(({ values: own }) => own);
  return { args, key: keyOf(args), values };
}
