import { z } from 'zod';

import {
  errorOf,
  type ErrorType,
  type GatewayError,
  InvalidInput,
} from '../contract/gateway-error.ts';
import { violatedCheck, violationOf } from '../database/database-errors.ts';
import { type Field, type StoredTable, valueIn } from './stored-table.ts';
import { toEnumName, type Words } from './words.ts';

/** An error about one row or one value. */
export type ErrorAbout<Value> = ErrorType &
  (new (
    value: Value,
    line?: number | null,
  ) => GatewayError & {
    /** The index of the line that the error is about, if the mutation takes a list of lines. */
    readonly line?: number | null;
  });

/** A value that callers can set when they create a row and, if it is a column, when they update a row. */
interface Input<Value> {
  /** The description in the input for a new row, if it differs from the column's in schema.prisma. */
  readonly create?: string;
  /** The description in the input for an update; by default, the one for a new row with "The new" instead of "The". */
  readonly update?: string;
  /** Validates the value instead of the column's rule. */
  readonly rule?: z.ZodType;
  /** The GraphQL type, if the input is not a column. Such an input also needs a rule. */
  readonly type?: string;
  /** The error if the value is the id of a row that does not exist. */
  readonly missing?: ErrorAbout<NonNullable<Value>>;
  /**
   * Whether an earlier release without this input stored idempotency keys. If the input's value is null, it is left out
   * of the digest of an idempotent write, so retries are still recognized.
   */
  readonly isLater?: boolean;
}

export type Inputs<Row> = { readonly [Name in keyof Row]?: Input<Row[Name]> } & Readonly<
  Record<string, Input<never>>
>;

/** The validated values of a new row. */
export type NewRow<Row, Of> = {
  readonly [Name in keyof Of]: Name extends keyof Row
    ? Row[Name]
    : Of[Name] extends { readonly rule: z.ZodType<infer Value> }
      ? Value
      : never;
};

/** A value that callers can set, completed from its column. */
export interface CompleteInput extends Omit<Input<never>, 'create' | 'update'> {
  readonly name: string;
  readonly field: Field | undefined;
  readonly create: string;
  /** Undefined if the input is not a column. */
  readonly update: string | undefined;
  readonly rule: z.ZodType;
  readonly type: string;
}

/** A constraint that the values of callers can violate. */
export interface Constraint {
  readonly fields: readonly Field[];
  /** Whether the values must be unique. Otherwise, they must refer to a row. */
  readonly isUnique: boolean;
  /** The error about the field's value. For several fields, it quotes no value. */
  readonly error: ErrorAbout<unknown>;
}

function createTaken(
  type: string,
  { singular }: Words,
  fields: readonly Field[],
): ErrorAbout<unknown> {
  const code = fields.map(({ name }) => toEnumName(name)).join('_');
  const names = fields.map(({ name }) => `\`${name}\``);
  const last = names.pop();
  const listed = names.length > 0 ? `${names.join(', ')} and ${last}` : last;
  const description = `Another ${singular} has the same ${listed}.`;
  return errorOf(
    `${toEnumName(type)}_${code}_TAKEN`,
    409,
    description,
    (value: unknown, line: number | null = null) => ({
      message:
        value === undefined
          ? description
          : `Another ${singular} has the ${listed} ${String(fields[0]?.kind.toParameter(value))}.`,
      line,
    }),
  );
}

/** Returns the constraints on the values that callers can set, each with its error. */
export function constraintsOf<Row>(
  { type, uniques }: StoredTable<Row>,
  words: Words,
  inputs: readonly CompleteInput[],
): Constraint[] {
  const unique = (fields: readonly Field[]): Constraint => ({
    fields,
    isUnique: true,
    error: createTaken(type, words, fields),
  });
  const ofInputs = inputs.flatMap(({ field, missing }): Constraint[] => [
    ...(field && missing ? [{ fields: [field], isUnique: false, error: missing }] : []),
    ...(field?.isUnique ? [unique([field])] : []),
  ]);
  const names = new Set(inputs.map(({ name }) => name));
  const ofSeveral = uniques.filter((fields) => fields.some(({ name }) => names.has(name)));
  return [...ofInputs, ...ofSeveral.map(unique)];
}

export function completeInput<Row>(
  table: StoredTable<Row>,
  [name, input]: readonly [string, Input<never>],
): CompleteInput {
  const place = `${table.type}.${name}`;
  const field: Field | undefined = new Map<string, Field>(Object.entries(table.fields)).get(name);
  const { rule = field?.rule, type = field?.kind.graphql, create = field?.description } = input;
  if (!rule || !type) throw new Error(`${place} is not a column: it needs a rule and a type.`);
  if (create == null) throw new Error(`schema.prisma has no description (///) for ${place}.`);
  const update = field && (input.update ?? create.replace(/^The /, 'The new '));
  return { ...input, create, update, name, field, rule, type };
}

/** Returns the rule for a new row, in which an optional value gets the default of its column. */
function toNewRule({ field, rule }: CompleteInput): z.ZodType {
  if (!field) return rule;
  if (field.isNullable) return rule.nullable().default(null);
  return field.default === null ? rule : rule.default(field.default);
}

const toUpdateRule = ({ field, rule }: CompleteInput): z.ZodType =>
  z.exactOptional(field?.isNullable ? rule.nullable() : rule);

export function createRules<Row, Of>(inputs: readonly CompleteInput[]) {
  const shape = (used: readonly CompleteInput[], toRule: (input: CompleteInput) => z.ZodType) =>
    z.object(Object.fromEntries(used.map((input) => [input.name, toRule(input)])));
  const columns = inputs.filter(({ field }) => field !== undefined);
  const later = new Set(inputs.filter(({ isLater }) => isLater).map(({ name }) => name));
  // The shapes come from the inputs, from which the types are also derived.
  /* oxlint-disable typescript/no-unsafe-type-assertion */
  return {
    newRule: shape(inputs, toNewRule) as unknown as z.ZodType<NewRow<Row, Of>>,
    updateRule: shape(columns, toUpdateRule) as unknown as z.ZodType<Partial<Row>>,
    /**
     * Returns a new row without the null values of inputs that were added later, so that retries are recognized even if
     * their key was stored before the inputs were added.
     */
    toDigest: (data: object): object =>
      Object.fromEntries(
        Object.entries(data).filter(([name, value]) => value !== null || !later.has(name)),
      ),
  };
  /* oxlint-enable typescript/no-unsafe-type-assertion */
}

const isViolated = (
  { fields, isUnique }: Constraint,
  { columns, isDuplicate }: NonNullable<ReturnType<typeof violationOf>>,
): boolean =>
  isUnique === isDuplicate &&
  fields.length === columns.length &&
  fields.every(({ column }) => columns.includes(column));

/** Returns a value as a parameter; null if the row does not have it. */
export const toCell = ({ kind, name }: Field, row: object): unknown => {
  const value = valueIn(row, name);
  return value == null ? null : kind.toParameter(value);
};

/** Returns the rows that have these values, as PostgreSQL writes them. */
function rowsWith(rows: readonly object[], fields: readonly Field[], values: string): object[] {
  const texts = fields.length === 1 ? [values] : values.split(', ');
  if (texts.length !== fields.length) return [];
  const wanted = fields.map(({ kind }, index) =>
    kind.toParameter(kind.fromText(texts[index] ?? '')),
  );
  return rows.filter((row) => fields.every((field, index) => toCell(field, row) === wanted[index]));
}

/**
 * Returns the error to send to the caller for a constraint that one of the rows violates. Returns any other error unchanged.
 * PostgreSQL reports only the values: `1, Rex, t`. So of several rows, the right one is unknown if it omits one of several
 * values, or has a string with a comma.
 */
export function toConstraintError(
  error: unknown,
  constraints: readonly Constraint[],
  rows: readonly object[],
  areLines = false,
): unknown {
  const check = violatedCheck(error);
  if (check !== undefined) {
    const message = `must satisfy the constraint ${check}.`;
    return new InvalidInput([{ path: ['input'], message, code: 'INVALID_VALUE' }]);
  }
  const violation = violationOf(error);
  const violated = violation && constraints.find((one) => isViolated(one, violation));
  if (!violated) return error;
  const { columns, values, isDuplicate } = violation;
  const fields = columns.flatMap((name) => violated.fields.filter(({ column }) => column === name));
  const [row = {}, ...others] = areLines ? rowsWith(rows, fields, values) : rows;
  const line = rows.indexOf(row);
  // Each of several equal lines has the id of a missing row, but a value may be taken only by the first of them.
  const isKnown = areLines && line >= 0 && (others.length === 0 || !isDuplicate);
  const [value] = fields.length === 1 ? fields.map(({ name }) => valueIn(row, name)) : [];
  return new violated.error(value, isKnown ? line : null);
}
