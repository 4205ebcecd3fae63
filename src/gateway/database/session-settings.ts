import type { Config } from '../config/config.ts';

// A role, a database or the server may have other values for these settings, which would cause wrong results, wrong
// writes or early timeouts. The operator can set everything else: settings that affect only speed, search_path,
// default_transaction_read_only, and the isolation level, because a stricter level is also correct.

/** Settings that a pooler tracks for each client. */
const TRACKED: Readonly<Record<string, string>> = {
  // In some other formats, a date is ambiguous: 03/12/2026 could be in March or in December.
  DateStyle: 'ISO, MDY',
  TimeZone: 'UTC',
  client_encoding: 'UTF8',
  // A backslash in a literal is not an escape character.
  standard_conforming_strings: 'on',
};

/** Settings for a direct connection only: through a pooler, they would leak to the pooler's other clients. */
const DIRECT: Readonly<Record<string, string>> = {
  // The value `replica` disables foreign keys and the triggers of the change log.
  session_replication_role: 'origin',
  // Any other value turns null in an array into the text NULL.
  array_nulls: 'on',
  // Any other value can make a search by name return a random subset of the rows.
  gin_fuzzy_search_limit: '0',
  // The gateway has its own timeouts; shorter timeouts here would pre-empt them.
  lock_timeout: '0',
  transaction_timeout: '0',
  idle_session_timeout: '0',
};

/** Returns one statement, which skips settings that this PostgreSQL does not have or that already have this value. */
function toSql(settings: Readonly<Record<string, string>>): string {
  const wanted = Object.entries(settings).map(([name, value]) => `('${name}', '${value}')`);
  return `SELECT set_config(name, value, false) FROM (VALUES ${wanted.join(', ')}) AS wanted (name, value)
    WHERE current_setting(name, true) <> value`;
}

/** The SQL that sets these settings in a direct session. */
export const DIRECT_SESSION = toSql({ ...TRACKED, ...DIRECT });

// PostgreSQL cancels a statement within this time after its connection is closed. PostgreSQL on Windows does not
// support this setting.
const CHECK_CONNECTION = `SELECT set_config('client_connection_check_interval', '20ms', false)
  WHERE version() !~* 'visual c|msvc|mingw'`;

/** Returns the SQL that runs first on each connection. */
export function sessionSql({ statementTimeoutMs, pgbouncer }: Config): string {
  if (pgbouncer) return toSql(TRACKED);
  return [
    `SET statement_timeout = ${statementTimeoutMs}`,
    `SET idle_in_transaction_session_timeout = ${statementTimeoutMs}`,
    DIRECT_SESSION,
    CHECK_CONNECTION,
  ].join(';');
}
