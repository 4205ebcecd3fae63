import { z } from 'zod';

import { Text255, parseArguments } from '../contract/parse.ts';
import type { Database } from '../database/database.ts';
import type { Session } from '../database/session.ts';
import { writeOnce } from './idempotency.ts';

/** Runs a mutation with its arguments for the caller with this subject. */
export type Mutate<Result> = (
  db: Database,
  args: object,
  caller: string | undefined,
) => Promise<Result>;

type ArgumentsOf<Shape extends z.ZodRawShape> = z.output<z.ZodObject<Shape>>;

/** What a mutation writes, and what is stored for its idempotency key. */
interface Write<Shape extends z.ZodRawShape, Result> {
  /** The name of the operation in stored digests, which must not change. */
  readonly operation: string;
  /** The rules of the arguments, except the idempotency key, which all mutations take. */
  readonly args: Shape;
  /**
   * Returns the arguments that a retry must repeat; all of them by default. Earlier releases stored the digest of these
   * arguments, so the selection must not change.
   */
  readonly digested?: (args: ArgumentsOf<Shape>) => unknown;
  /**
   * Returns the part of a result that is stored. It also completes results that another release stored, which may lack
   * columns. For a row, it is `normalize` of the row's table.
   */
  readonly stored: (result: Result) => Result;
  /** Whether `write` needs a transaction even without an idempotency key, because it runs several statements. */
  readonly inTransaction?: boolean;
  readonly write: (session: Session, args: ArgumentsOf<Shape>) => Promise<Result>;
  /** Converts a PostgreSQL error to an error for the caller, if it is about the arguments. */
  readonly toError?: (error: unknown, args: ArgumentsOf<Shape>) => unknown;
}

// All writes lock rows in one order, so they never wait for each other in a circle:
//
//   1. the idempotency key
//   2. a row before the rows that refer to it: a book before its copies
//   3. the rows of a table in the order of their ids, or all at once with SKIP LOCKED
//   4. at the end, by foreign keys: KEY SHARE, which only the deletion of the row waits for
//
// There are two exceptions, and neither can close a circle:
//
//   - An update that sets a foreign key locks the row that it newly refers to last. The deletion of that row takes only
//     KEY SHARE on the rows that refer to it, which NO KEY UPDATE does not block. So an update must never lock with UPDATE.
//   - A write of one statement may start from an old version of a row. So a statement that locks several rows must not
//     also update them if other writes take KEY SHARE on them (lines.ts).

/**
 * Creates the function of a mutation, which validates the arguments and writes once per idempotency key. The function
 * throws InvalidInput, IdempotencyConflict, and the errors of `write` and `toError`.
 */
export function defineWrite<const Shape extends z.ZodRawShape, Result>(
  mutation: Write<Shape, Result>,
): Mutate<Result> {
  const { digested = (args) => args, inTransaction, write, toError = (error) => error } = mutation;
  const rule = z.object(mutation.args).and(z.object({ idempotencyKey: Text255.nullish() }));
  return async (db, given, caller) => {
    const { idempotencyKey: key, ...rest } = parseArguments(rule, given);
    // `rest` contains the arguments of the shape.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const args = rest as unknown as ArgumentsOf<Shape>;
    const run = (session: Session): Promise<Result> => write(session, args);
    try {
      if (key == null) return await (inTransaction ? db.transaction(run) : run(db));
      return await writeOnce(db, { key, caller, input: digested(args) }, mutation, run);
    } catch (error) {
      throw toError(error, args);
    }
  };
}
