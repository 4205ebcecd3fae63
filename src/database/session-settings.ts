import { ConfigError } from '../config/config.ts';
import type { Log } from '../telemetry/log.ts';
import type { SqlConnection } from './migrations.ts';

// A role, a database or the server may set any of these, and each would give wrong results or writes.
// Settings that only affect speed are the operator's choice, and so are search_path, the isolation level
// (a stricter one is also correct) and default_transaction_read_only.

/** Settings that a pooler tracks for each client. */
const TRACKED: Readonly<Record<string, string>> = {
  // The text form of a time: 03/12/2026 could be March or December.
  DateStyle: 'ISO, MDY',
  TimeZone: 'UTC',
  client_encoding: 'UTF8',
  // A backslash in a literal is not an escape character.
  standard_conforming_strings: 'on',
};

/** Settings that would leak to other clients of a pooler: there they are only checked. */
const REQUIRED: Readonly<Record<string, string>> = {
  // Any other value disables foreign keys.
  session_replication_role: 'origin',
  // Any other value lets a search by name return a random part of the rows.
  gin_fuzzy_search_limit: '0',
};

/** Settings for a direct connection only; through a pooler their values do no harm. */
const DIRECT: Readonly<Record<string, string>> = {
  // The only form that PGlite's adapter can parse.
  bytea_output: 'hex',
  // The gateway has its own timeouts; shorter ones here would override them.
  lock_timeout: '0',
  transaction_timeout: '0',
  idle_session_timeout: '0',
};

/** Returns one statement; it skips settings that PostgreSQL does not know or that are already right. */
function toSql(settings: Readonly<Record<string, string>>): string {
  const wanted = Object.entries(settings).map(([name, value]) => `('${name}', '${value}')`);
  return `SELECT set_config(name, value, false) FROM (VALUES ${wanted.join(', ')}) AS wanted (name, value)
    WHERE current_setting(name, true) <> value`;
}

/** The first SQL of a session through a pooler. */
export const POOLED_SESSION = Object.entries(TRACKED)
  .map(([name, value]) => `SET ${name} = '${value}'`)
  .join(';');

/** The first SQL of a direct session. */
export const OWN_SESSION = toSql({ ...TRACKED, ...REQUIRED, ...DIRECT });

/**
 * Checks the settings of a session without which results would be wrong.
 * @throws ConfigError
 */
export async function requireSettings({ query }: SqlConnection): Promise<void> {
  for (const [name, value] of Object.entries(REQUIRED)) {
    const [row] = await query('SELECT current_setting($1) AS actual', [name]);
    const actual = String(row?.['actual']);
    if (actual !== value) {
      throw new ConfigError(
        `DATABASE_URL: its sessions have ${name} = ${actual}, with which results and writes would be wrong: ` +
          `set it to ${value} for the gateway's role (ALTER ROLE … SET ${name} = '${value}').`,
      );
    }
  }
}

const CHECKS = `SELECT
  'É' ILIKE 'é' AS "foldsCase",
  current_setting('synchronous_commit') <> 'off' AS "isDurable",
  (SELECT string_agg(name, ', ') FROM unnest(ARRAY['categories', 'pets', 'orders', 'inventory_items',
    'idempotency_keys', 'changes']) AS name
    WHERE CASE WHEN to_regclass(name) IS NULL THEN false ELSE row_security_active(name) END) AS "hidden"`;

/** Logs warnings about settings with which the gateway can't keep all its promises. */
export async function warnAboutSettings({ query }: SqlConnection, log: Log): Promise<void> {
  const [row] = await query(CHECKS);
  if (row?.['foldsCase'] === false) {
    log.warn(
      'A search by name distinguishes É from é: the LC_CTYPE of the database has upper and lower case for ASCII only.',
    );
  }
  if (row?.['isDurable'] === false) {
    log.warn(
      'synchronous_commit is off: acknowledged writes are lost if the database server crashes.',
    );
  }
  if (typeof row?.['hidden'] === 'string') {
    log.warn(
      `Row security applies to the gateway's role: rows of ${row['hidden']} that its policies hide do not exist for the gateway.`,
    );
  }
}
