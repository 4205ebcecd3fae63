import { z } from 'zod';

import type { ErrorType, GatewayError } from '../contract/gateway-error.ts';
import { violatedConstraint } from '../database/database-errors.ts';
import type { Field } from './stored-table.ts';

/** An error about one row, or one value. */
export type ErrorAbout<Value> = ErrorType & (new (value: Value) => GatewayError);

/** A value that callers can set. */
interface Input<Value> {
  /** What the input for a new row says of it; without a text it is not in that input. */
  readonly create?: string;
  /** The same for the input that changes a row. */
  readonly update?: string;
  /** Validates it, instead of what its column allows. */
  readonly rule?: z.ZodType;
  /** Its type in GraphQL, if it is no column: then it needs a rule too. */
  readonly type?: string;
  /** The error if it is the id of a row that does not exist. */
  readonly missing?: ErrorAbout<NonNullable<Value>>;
  /** The error if another row has the same value. */
  readonly taken?: ErrorAbout<NonNullable<Value>>;
  /**
   * Whether keys of earlier releases may have been stored without it: while it is null, it is not in the digest of
   * an idempotent write, so that a retry is recognized.
   */
  readonly isLater?: boolean;
}

export type Inputs<Row> = { readonly [Name in keyof Row]?: Input<Row[Name]> } & Readonly<
  Record<string, Input<never>>
>;

/** The values of a new row, as they were validated. */
export type NewRow<Row, Of> = {
  readonly [
    Name in keyof Of as Of[Name] extends { readonly create: string } ? Name : never
  ]: Name extends keyof Row
    ? Row[Name]
    : Of[Name] extends { readonly rule: z.ZodType<infer Value> }
      ? Value
      : never;
};

/** What is known of a value that callers can set. */
export interface KnownInput extends Input<never> {
  readonly name: string;
  readonly field: Field | undefined;
  readonly rule: z.ZodType;
  /** Its type in GraphQL. */
  readonly type: string;
}

/** Completes an input by what is known of its column. */
export function toKnown(
  fields: Readonly<Record<string, Field>>,
  [name, input]: readonly [string, Input<never>],
): KnownInput {
  const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
  const rule = input.rule ?? field?.rule;
  const type = input.type ?? field?.kind.graphql;
  if (!rule || !type) throw new Error(`${name} is not a column: it needs a rule and a type.`);
  return { ...input, name, field, rule, type };
}

/** A value that can be left out has the default of its column. */
function toNewRule({ field, rule }: KnownInput): z.ZodType {
  if (!field) return rule;
  if (field.isNullable) return rule.nullable().default(null);
  return field.default === null ? rule : rule.default(field.default);
}

const toUpdateRule = ({ field, rule }: KnownInput): z.ZodType =>
  z.exactOptional(field?.isNullable ? rule.nullable() : rule);

/** Creates the rules of the inputs. */
export function createRules<Row, Of>(inputs: readonly KnownInput[]) {
  const shape = (place: 'create' | 'update', toRule: (input: KnownInput) => z.ZodType) =>
    z.object(
      Object.fromEntries(
        inputs
          .filter((input) => input[place] !== undefined)
          .map((input) => [input.name, toRule(input)]),
      ),
    );
  // The shapes are those of the inputs, from which the types are made.
  /* oxlint-disable typescript/no-unsafe-type-assertion */
  return {
    newRule: shape('create', toNewRule) as unknown as z.ZodType<NewRow<Row, Of>>,
    updateRule: shape('update', toUpdateRule) as unknown as z.ZodType<Partial<Row>>,
  };
  /* oxlint-enable typescript/no-unsafe-type-assertion */
}

/** Returns the error that belongs to a violated constraint. */
export function toConstraintError(
  error: unknown,
  inputs: readonly KnownInput[],
  data: object,
): unknown {
  const violated = violatedConstraint(error);
  if (violated === undefined) return error;
  const values = new Map<string, unknown>(Object.entries(data));
  for (const { name, field, missing: Missing, taken: Taken } of inputs) {
    const value = values.get(name);
    // The class is about values of this field.
    /* oxlint-disable typescript/no-unsafe-type-assertion */
    if (Missing && field?.foreignKey === violated) return new Missing(value as never);
    if (Taken && field?.uniqueKey === violated) return new Taken(value as never);
    /* oxlint-enable typescript/no-unsafe-type-assertion */
  }
  return error;
}
