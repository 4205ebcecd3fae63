import { z } from 'zod';

import { Label, parseArguments } from '../contract/parse.ts';
import type { Database } from '../database/database.ts';
import type { Session } from '../database/session.ts';
import { writeOnce } from './idempotency.ts';

/** A mutation with its arguments, by the caller with this subject. */
export type Mutate<Result> = (
  db: Database,
  args: object,
  caller: string | undefined,
) => Promise<Result>;

type Arguments<Shape extends z.ZodRawShape> = z.output<z.ZodObject<Shape>>;

/** What a mutation writes, and what is stored of it for its idempotency key. */
interface Write<Shape extends z.ZodRawShape, Result> {
  /** Its name in digests, which are stored: it must not change. */
  readonly operation: string;
  /** The rules of its arguments, without the idempotency key, which each mutation takes. */
  readonly args: Shape;
  /** What a retry must repeat, if not all arguments. Digests of earlier releases are stored: it must not change. */
  readonly digested?: (args: Arguments<Shape>) => unknown;
  /** What is stored of the result, also from a result that another release stored: for a row, `normalize` of its table. */
  readonly stored: (result: Result) => Result;
  readonly write: (session: Session, args: Arguments<Shape>) => Promise<Result>;
  /** Returns the error of the caller for one of PostgreSQL. */
  readonly toError?: (error: unknown, args: Arguments<Shape>) => unknown;
}

/**
 * Creates the function of a mutation, which validates its arguments, and writes once for each idempotency key.
 * It throws InvalidInput, IdempotencyConflict, and what `write` and `toError` do.
 */
export function defineWrite<const Shape extends z.ZodRawShape, Result>({
  operation,
  args: shape,
  digested = (args) => args,
  stored,
  write,
  toError = (error) => error,
}: Write<Shape, Result>): Mutate<Result> {
  const rule = z.object(shape).and(z.object({ idempotencyKey: Label.nullish() }));
  return async (db, given, caller) => {
    const { idempotencyKey: key, ...rest } = parseArguments(rule, given);
    // The rest has the arguments of the shape.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const args = rest as unknown as Arguments<Shape>;
    const request = { key, caller, operation, input: digested(args), stored };
    try {
      return await writeOnce(db, request, (session) => write(session, args));
    } catch (error) {
      throw toError(error, args);
    }
  };
}
