import { setTimeout as sleep } from 'node:timers/promises';

import type { PGlite } from '@electric-sql/pglite';

import type { Log } from '../telemetry/log.ts';

const INTERVAL_MS = 2000;
const INTERVAL_AFTER_FAILURE_MS = 60_000;
// A checkpoint takes about 0.1 s. An early one, while nothing is written, makes a later recovery short.
const MAX_WAL_BYTES = 32 * 2 ** 20;
const MAX_IDLE_WAL_BYTES = 2 ** 20;

const WAL_SQL = `
  select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as written,
    pg_wal_lsn_diff(redo_lsn, '0/0')::float8 as checkpointed
  from pg_control_checkpoint()`;

// The thresholds of autovacuum, but higher for small tables, because autovacuum runs only once a minute,
// and lower for large tables, so that each command stays short.
const DUE_COMMANDS_SQL = `
  select format(case when is_vacuum_due then 'vacuum %s' else 'analyze %s' end, oid::regclass) as command
  from (
    select c.oid, reltuples,
      pg_stat_get_dead_tuples(c.oid) > least(1000 + 0.2 * reltuples, 20000)
        or pg_stat_get_ins_since_vacuum(c.oid) > least(1000 + 0.2 * reltuples, 50000)
        or age(relfrozenxid) > 150000000 as is_vacuum_due,
      pg_stat_get_mod_since_analyze(c.oid) > 500 + 0.1 * reltuples
        and relnamespace = 'public'::regnamespace as is_analyze_due
    from pg_class c where relkind = 'r') as tables
  where is_vacuum_due or is_analyze_due
  order by reltuples`;

/** Positions in the write-ahead log, in bytes. */
interface WalPositions {
  readonly written: number;
  readonly checkpointed: number;
}

/** Runs the commands that are due; returns whether there were any. */
async function runDueCommands(
  pglite: PGlite,
  { written, checkpointed }: WalPositions,
  isIdle: boolean,
): Promise<boolean> {
  const { rows } = await pglite.query<{ command: string }>(DUE_COMMANDS_SQL);
  const commands = rows.map(({ command }) => command);
  const maxWalBytes = isIdle ? MAX_IDLE_WAL_BYTES : MAX_WAL_BYTES;
  if (written - checkpointed > maxWalBytes) commands.unshift('checkpoint');
  for (const command of commands) await pglite.exec(command);
  return commands.length > 0;
}

/**
 * Starts the maintenance for which a PostgreSQL server has processes and PGlite has none: checkpoints,
 * without which the write-ahead log grows for ever, and VACUUM and ANALYZE of one table at a time. It
 * runs every two seconds, and requests may run between its commands. A failure is logged as a warning,
 * and the next run is a minute later. Returns a function that stops it after the current run.
 */
export function startMaintenance(pglite: PGlite, log: Log): () => Promise<void> {
  const stopping = new AbortController();
  let lastWritten = 0;
  let isComplete = false;
  const maintain = async (): Promise<void> => {
    const [positions] = (await pglite.query<WalPositions>(WAL_SQL)).rows;
    if (!positions) return;
    const isIdle = positions.written === lastWritten;
    lastWritten = positions.written;
    if (isIdle && isComplete) return;
    const hadCommands = await runDueCommands(pglite, positions, isIdle);
    isComplete = isIdle && !hadCommands;
  };
  const runUntilStopped = async (): Promise<void> => {
    let pauseMs = INTERVAL_MS;
    while (!stopping.signal.aborted) {
      const pause = sleep(pauseMs, true, { ref: false, signal: stopping.signal });
      // Rejects only if it is stopped.
      if (!(await pause.catch(() => false))) return;
      pauseMs = INTERVAL_MS;
      await maintain().catch((error: unknown) => {
        pauseMs = INTERVAL_AFTER_FAILURE_MS;
        log.warn({ err: error }, 'Maintenance of the embedded database failed.');
      });
    }
  };
  const stopped = runUntilStopped();
  return async () => {
    stopping.abort();
    await stopped;
  };
}
