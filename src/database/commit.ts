import type { PrismaPg } from '@prisma/adapter-pg';

type Adapter = Awaited<ReturnType<PrismaPg['connect']>>;
type Transaction = Awaited<ReturnType<Adapter['startTransaction']>>;

const toStatement = (sql: string) => ({ sql, args: [], argTypes: [] });

/**
 * Makes COMMIT fail in a transaction that a failed statement aborted. PostgreSQL answers such a
 * COMMIT with ROLLBACK, which is no error, and Prisma's adapter reports it as done.
 */
export function rejectAbortedCommit(transaction: Transaction): Transaction {
  const queryRaw = transaction.queryRaw.bind(transaction);
  const executeRaw = transaction.executeRaw.bind(transaction);
  let failed = false;
  const watch = async <Result>(result: Promise<Result>): Promise<Result> => {
    try {
      return await result;
    } catch (error) {
      failed = true;
      throw error;
    }
  };
  transaction.queryRaw = (query) => watch(queryRaw(query));
  transaction.executeRaw = async (query) => {
    if (query.sql === 'COMMIT' && failed) {
      // Fails if the transaction is still aborted: a savepoint may have undone the failed statement.
      await executeRaw(toStatement('SELECT 1')).catch(async (error: unknown) => {
        await executeRaw(toStatement('ROLLBACK'));
        throw error;
      });
    }
    return watch(executeRaw(query));
  };
  return transaction;
}
