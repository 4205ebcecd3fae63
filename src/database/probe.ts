const TIMEOUT_MS = 2000;

/** The state of a database that responds. */
export interface Readiness {
  /** Whether it accepts writes: a standby or a demoted primary does not. */
  readonly writes: boolean;
  /** The version of PostgreSQL. */
  readonly version: string;
}

/** Selects a Readiness. */
export const READINESS_SQL = `SELECT current_setting('transaction_read_only') = 'off' AS "writes",
  current_setting('server_version') AS "version"`;

/** Reads the state of a database. */
export interface Probe {
  readonly readReadiness: () => Promise<Readiness>;
  /** Closes its connection, with a statement that may still run. */
  readonly disconnect: () => void;
}

/**
 * Creates a function that reads the state of a database; concurrent calls share one statement.
 * It rejects if there is no response within two seconds.
 */
export function createPing({ readReadiness, disconnect }: Probe): () => Promise<Readiness> {
  let current: Promise<Readiness> | undefined;
  const readInTime = async (): Promise<Readiness> => {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        reject(new Error(`The database did not respond within ${TIMEOUT_MS} ms.`));
      }, TIMEOUT_MS);
    });
    try {
      return await Promise.race([readReadiness(), timeout]);
    } catch (error) {
      disconnect();
      throw error;
    } finally {
      clearTimeout(timer);
      current = undefined;
    }
  };
  return () => (current ??= readInTime());
}
