const TIMEOUT_MS = 2000;

/** What a database that answers says of itself. */
export interface Readiness {
  /** Whether it takes writes: a standby, or a primary that was demoted, doesn't. */
  readonly writes: boolean;
}

/** The statement that asks for it. */
export const READINESS_SQL = `SELECT current_setting('transaction_read_only') = 'off' AS "writes"`;

/** A way to ask a database. */
export interface Probe {
  readonly ask: () => Promise<Readiness>;
  /** Drops the connection that it asks on, with a question that has no answer yet. */
  readonly drop: () => void;
}

/**
 * Creates a function that asks a probe; callers at the same time share one question.
 * It rejects after two seconds without an answer.
 */
export function createPing({ ask, drop }: Probe): () => Promise<Readiness> {
  let current: Promise<Readiness> | undefined;
  const askInTime = async (): Promise<Readiness> => {
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        reject(new Error(`The database did not answer within ${TIMEOUT_MS} ms.`));
      }, TIMEOUT_MS);
    });
    try {
      return await Promise.race([ask(), tooLate]);
    } catch (error) {
      drop();
      throw error;
    } finally {
      clearTimeout(timer);
      current = undefined;
    }
  };
  return () => (current ??= askInTime());
}
