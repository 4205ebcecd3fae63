import { setTimeout as sleep } from 'node:timers/promises';

import type { PGlite } from '@electric-sql/pglite';

import type { Log } from '../telemetry/log.ts';

const LOOK_EVERY_MS = 2000;
const AFTER_FAILURE_MS = 60_000;
// A checkpoint takes about 0.1 s. One that comes early, as nobody is writing, makes a recovery short.
const MAX_WAL_BYTES = 32 * 2 ** 20;
const MAX_IDLE_WAL_BYTES = 2 ** 20;

const WRITTEN_SQL = `
  select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as written,
    pg_wal_lsn_diff(redo_lsn, '0/0')::float8 as checkpointed
  from pg_control_checkpoint()`;

// The thresholds of autovacuum, but higher for small tables, which it looks at once a minute only, and
// lower for large ones, so that a step stays short.
const STEPS_SQL = `
  select format(case when is_vacuum_due then 'vacuum %s' else 'analyze %s' end, oid::regclass) as step
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

interface Written {
  readonly written: number;
  readonly checkpointed: number;
}

/** Does what is due, and returns whether there was anything. */
async function takeSteps(pglite: PGlite, now: Written, isIdle: boolean): Promise<boolean> {
  const limit = isIdle ? MAX_IDLE_WAL_BYTES : MAX_WAL_BYTES;
  const steps = (await pglite.query<{ step: string }>(STEPS_SQL)).rows.map(({ step }) => step);
  if (now.written - now.checkpointed > limit) steps.unshift('checkpoint');
  for (const step of steps) await pglite.exec(step);
  return steps.length > 0;
}

/**
 * Starts what servers have processes for, and PostgreSQL in PGlite has not: checkpoints, without which
 * its write-ahead log grows for ever, and VACUUM and ANALYZE, a table at a time. It looks every two
 * seconds what is due; requests take turns with its steps as they do with each other. A step that fails
 * is logged as a warning, and the next look is a minute later. Returns a function that stops it and
 * waits for the look that runs.
 */
export function startUpkeep(pglite: PGlite, log: Log): () => Promise<void> {
  const stopping = new AbortController();
  let written = 0;
  let isDone = false;
  const look = async (): Promise<void> => {
    const [now] = (await pglite.query<Written>(WRITTEN_SQL)).rows;
    if (!now) return;
    const isIdle = now.written === written;
    written = now.written;
    if (isIdle && isDone) return;
    const isTaken = await takeSteps(pglite, now, isIdle);
    isDone = isIdle && !isTaken;
  };
  const run = async (): Promise<void> => {
    let pauseMs = LOOK_EVERY_MS;
    while (!stopping.signal.aborted) {
      const isPaused = sleep(pauseMs, true, { ref: false, signal: stopping.signal });
      // Rejects only if it is stopped.
      if (!(await isPaused.catch(() => false))) return;
      pauseMs = LOOK_EVERY_MS;
      await look().catch((error: unknown) => {
        pauseMs = AFTER_FAILURE_MS;
        log.warn({ err: error }, 'The upkeep of the embedded database failed.');
      });
    }
  };
  const end = run();
  return async () => {
    stopping.abort();
    await end;
  };
}
