import sql, { join, raw, type Sql } from 'sql-template-tag';
import { z } from 'zod';

import { Id } from '../contract/parse.ts';
import { isStillReferenced } from '../database/database-errors.ts';
import { onlyRow, type Session } from '../database/session.ts';
import { defineWrite, type Mutate } from './define-write.ts';
import { type Constraint, type ErrorAbout, toConstraintError } from './inputs.ts';
import { linesOf, lockLines, updateLines } from './lines.ts';
import { type Field, type StoredTable, toValue, valueIn } from './stored-table.ts';

export interface Deleted {
  readonly id: bigint;
}

/** The mutations of a table's rows. */
export interface Writes<Row> {
  /** @throws InvalidInput, IdempotencyConflict, and the errors of the inputs */
  readonly create: Mutate<Row>;
  /** @throws InvalidInput, IdempotencyConflict, notFound, and the errors of the inputs */
  readonly update: Mutate<Row>;
  /** `create` and `update` for several rows, all or nothing. */
  readonly createMany: Mutate<Row[]>;
  readonly updateMany: Mutate<Row[]>;
  /** @throws InvalidInput, IdempotencyConflict, notFound, inUse */
  readonly delete: Mutate<Deleted>;
  /**
   * Converts a PostgreSQL error to one of the errors of the inputs, if it is about the values of these rows. Other mutations
   * of the rows need it as their `toError`. `areLines` is true if callers have sent a list of rows.
   */
  readonly toError: (error: unknown, rows: readonly object[], areLines?: boolean) => unknown;
}

/** What the mutations of a table's rows check. */
export interface WriteRules<Row, New> {
  /** The rules of the inputs for a new row and for an update. */
  readonly newRule: z.ZodType<New>;
  readonly updateRule: z.ZodType<Partial<Row>>;
  /** Returns the part of a new row that is in the digest of an idempotent write. */
  toDigest(this: void, data: New): object;
  /** What the values of the inputs can violate. */
  readonly constraints: readonly Constraint[];
  readonly notFound: ErrorAbout<bigint>;
  /** The error for deleting a row that other rows refer to. */
  readonly inUse: ErrorAbout<bigint> | undefined;
}

interface WriteOptions<Row, New> extends WriteRules<Row, New> {
  /** Inserts rows and returns them in the same order. */
  readonly insert: (session: Session, rows: readonly New[]) => Promise<Row[]>;
}

const createInserts = <Row extends object, New extends object>(
  { type, normalize, normalizeAll }: StoredTable<Row>,
  { newRule, toDigest, constraints, insert }: WriteOptions<Row, New>,
): Pick<Writes<Row>, 'create' | 'createMany'> => ({
  create: defineWrite({
    operation: `create${type}`,
    args: { input: newRule },
    digested: ({ input }) => toDigest(input),
    stored: normalize,
    write: async (session, { input }) => onlyRow(await insert(session, [input])),
    toError: (error, { input }) => toConstraintError(error, constraints, [input]),
  }),
  createMany: defineWrite({
    operation: `create${type}s`,
    args: { input: linesOf(newRule) },
    digested: ({ input }) => input,
    stored: normalizeAll,
    write: (session, { input }) => insert(session, input),
    toError: (error, { input }) => toConstraintError(error, constraints, input, true),
  }),
});

/** Returns an UPDATE that returns the row. Undefined fields keep their values; if all are undefined, it only reads the row. */
function updateRow<Row>(table: StoredTable<Row>, id: bigint, row: Partial<Row>): Sql {
  const from = raw(table.name);
  const isRow = sql`${raw(table.id.column)} = ${id}`;
  const changes = Object.values<Field>(table.fields).flatMap((field) => {
    const value = valueIn(row, field.name);
    return value === undefined ? [] : sql`${raw(field.ownColumn)} = ${toValue(field, value)}`;
  });
  if (changes.length === 0) return sql`select ${table.all} from ${from} where ${isRow}`;
  return sql`update ${from} set ${join(changes)} where ${isRow} returning ${table.all}`;
}

function createUpdates<Row extends object, New extends object>(
  table: StoredTable<Row>,
  { updateRule, constraints, notFound: NotFound }: WriteOptions<Row, New>,
): Pick<Writes<Row>, 'update' | 'updateMany'> {
  const { type, normalize, normalizeAll } = table;
  const Line = z
    .object({ id: Id })
    .and(updateRule)
    // `data` contains the fields of the rule.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    .transform(({ id, ...data }) => ({ id, data: data as unknown as Partial<Row> }));
  return {
    update: defineWrite({
      operation: `update${type}`,
      args: { id: Id, input: updateRule },
      digested: ({ id, input }) => ({ id, data: input }),
      stored: normalize,
      write: async ({ write }, { id, input }) => {
        const [row] = await write<Row>(updateRow(table, id, input));
        if (!row) throw new NotFound(id);
        return row;
      },
      toError: (error, { input }) => toConstraintError(error, constraints, [input]),
    }),
    updateMany: defineWrite({
      operation: `update${type}s`,
      args: { input: linesOf(Line, 'id') },
      digested: ({ input }) => input,
      stored: normalizeAll,
      inTransaction: true,
      write: async (session, { input }) => {
        const locked = await lockLines(session, table, input);
        for (const [index, { id }] of input.entries()) {
          if (!locked.has(id)) throw new NotFound(id, index);
        }
        return session.write<Row>(updateLines(table, input));
      },
      toError: (error, { input }) => {
        const rows = input.map(({ data }) => data);
        return toConstraintError(error, constraints, rows, true);
      },
    }),
  };
}

const createDelete = <Row extends object, New extends object>(
  { type, name, id: { column } }: StoredTable<Row>,
  { notFound: NotFound, inUse: InUse }: WriteOptions<Row, New>,
): Writes<Row>['delete'] =>
  defineWrite({
    operation: `delete${type}`,
    args: { id: Id },
    stored: (deleted) => deleted,
    write: async ({ write }, { id }) => {
      const [row] = await write<Deleted>(
        sql`delete from ${raw(name)} where ${raw(column)} = ${id} returning ${raw(column)} as id`,
      );
      if (!row) throw new NotFound(id);
      return row;
    },
    toError: (error, { id }) => (InUse && isStillReferenced(error) ? new InUse(id) : error),
  });

export const createWrites = <Row extends object, New extends object>(
  table: StoredTable<Row>,
  options: WriteOptions<Row, New>,
): Writes<Row> => ({
  ...createInserts(table, options),
  ...createUpdates(table, options),
  delete: createDelete(table, options),
  toError: (error, rows, areLines) => toConstraintError(error, options.constraints, rows, areLines),
});
