import { setTimeout as sleep } from 'node:timers/promises';

import type { PGlite } from '@electric-sql/pglite';

import type { Log } from '../../telemetry/log.ts';

const INTERVAL_MS = 2000;
const INTERVAL_AFTER_FAILURE_MS = 60_000;
// With this limit, a checkpoint takes about 0.1 s.
const MAX_WAL_BYTES = 32 * 2 ** 20;

// Autovacuum's thresholds, most of them adjusted: higher for small tables, because maintenance runs every two seconds
// and autovacuum only once a minute; lower for large tables, so that each command is short.
const DUE_COMMANDS_SQL = `
  select 'checkpoint' as command from pg_control_checkpoint()
  where pg_wal_lsn_diff(pg_current_wal_insert_lsn(), redo_lsn) > ${MAX_WAL_BYTES}
  union all
  (select format(case when is_vacuum_due then 'vacuum %s' else 'analyze %s' end, oid::regclass)
  from (
    select c.oid, reltuples,
      pg_stat_get_dead_tuples(c.oid) > least(1000 + 0.2 * reltuples, 20000)
        or pg_stat_get_ins_since_vacuum(c.oid) > least(1000 + 0.2 * reltuples, 50000)
        or age(relfrozenxid) > 150000000 as is_vacuum_due,
      pg_stat_get_mod_since_analyze(c.oid) > 500 + 0.1 * reltuples
        and relnamespace = 'public'::regnamespace as is_analyze_due
    from pg_class c where relkind = 'r') as tables
  where is_vacuum_due or is_analyze_due
  order by reltuples)`;

async function maintain(pglite: PGlite): Promise<void> {
  const { rows } = await pglite.query<{ command: string }>(DUE_COMMANDS_SQL);
  for (const { command } of rows) await pglite.exec(command);
}

/**
 * Starts the maintenance that a PostgreSQL server runs in background processes but PGlite does not: checkpoints,
 * without which the write-ahead log grows forever, and VACUUM and ANALYZE, one table at a time. Each run starts two
 * seconds after the end of the last one, or a minute after a failure. Requests may run between its commands. Returns a
 * function that stops the maintenance after the current run.
 */
export function startMaintenance(pglite: PGlite, log: Log): () => Promise<void> {
  const closing = new AbortController();
  const options = { ref: false, signal: closing.signal };
  const maintainUntilClosed = async (): Promise<void> => {
    let ms = INTERVAL_MS;
    while (await sleep(ms, true, options).catch(() => false)) {
      try {
        await maintain(pglite);
        ms = INTERVAL_MS;
      } catch (error) {
        log.warn({ err: error }, 'Maintenance of the embedded database failed.');
        ms = INTERVAL_AFTER_FAILURE_MS;
      }
    }
  };
  const maintaining = maintainUntilClosed();
  return async () => {
    closing.abort();
    await maintaining;
  };
}
