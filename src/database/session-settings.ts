import { ConfigError } from '../config/config.ts';
import type { Log } from '../telemetry/log.ts';
import type { SqlConnection } from './migrations.ts';

// A role, a database or the server may set any of these, and each would make answers or writes
// wrong. What only makes them slower is the operator's choice, and so are search_path, the
// isolation of transactions (a stricter one is as right) and default_transaction_read_only.

/** Kept apart for each client by a pooler too. */
const TRACKED: Readonly<Record<string, string>> = {
  // They decide how a time is written as text: 03/12/2026 could be March or December.
  DateStyle: 'ISO, MDY',
  TimeZone: 'UTC',
  client_encoding: 'UTF8',
  // A backslash in a literal stands for itself.
  standard_conforming_strings: 'on',
};

/** Would leak to other clients of a pooler; a pooled connection is only checked for them. */
const REQUIRED: Readonly<Record<string, string>> = {
  // Anything else switches foreign keys off.
  session_replication_role: 'origin',
  // Beyond 0, a search by name finds some of the rows, at random.
  gin_fuzzy_search_limit: '0',
};

/** Sets what a session of its own needs besides; none is wrong in a pooled one. */
const OWN: Readonly<Record<string, string>> = {
  // PGlite's adapter only reads this form.
  bytea_output: 'hex',
  // The gateway has limits of its own: shorter ones here would end what these allow.
  lock_timeout: '0',
  transaction_timeout: '0',
  idle_session_timeout: '0',
};

/** One statement: a setting that this PostgreSQL doesn't know, or that is right, is left alone. */
function toSql(settings: Readonly<Record<string, string>>): string {
  const wanted = Object.entries(settings).map(([name, value]) => `('${name}', '${value}')`);
  return `SELECT set_config(name, value, false) FROM (VALUES ${wanted.join(', ')}) AS wanted (name, value)
    WHERE current_setting(name, true) <> value`;
}

/** The SQL with which a session behind a pooler begins. */
export const POOLED_SESSION = Object.entries(TRACKED)
  .map(([name, value]) => `SET ${name} = '${value}'`)
  .join(';');

/** The SQL with which a session of one's own begins. */
export const OWN_SESSION = toSql({ ...TRACKED, ...REQUIRED, ...OWN });

/**
 * Makes sure that a session has what the gateway can't do without.
 * @throws ConfigError
 */
export async function expectSettings({ query }: SqlConnection): Promise<void> {
  for (const [name, value] of Object.entries(REQUIRED)) {
    const [row] = await query('SELECT current_setting($1) AS found', [name]);
    const found = String(row?.['found']);
    if (found !== value) {
      throw new ConfigError(
        `DATABASE_URL: its sessions have ${name} = ${found}, which makes answers and writes wrong: ` +
          `set it to ${value} for the gateway's role (ALTER ROLE … SET ${name} = '${value}').`,
      );
    }
  }
}

const CHECKS = `SELECT
  'É' ILIKE 'é' AS "foldsCase",
  current_setting('synchronous_commit') <> 'off' AS "isDurable",
  (SELECT string_agg(name, ', ') FROM unnest(ARRAY['categories', 'pets', 'orders', 'inventory_items',
    'idempotency_keys']) AS name
    WHERE CASE WHEN to_regclass(name) IS NULL THEN false ELSE row_security_active(name) END) AS "hidden"`;

/** Warns where the database's own settings make less true than the gateway promises. */
export async function adviseSettings({ query }: SqlConnection, log: Log): Promise<void> {
  const [row] = await query(CHECKS);
  if (row?.['foldsCase'] === false) {
    log.warn(
      "Searching by name tells É from é here: the database's LC_CTYPE knows upper and lower case of ASCII alone.",
    );
  }
  if (row?.['isDurable'] === false) {
    log.warn(
      'synchronous_commit is off: writes that were acknowledged are lost if the database server crashes.',
    );
  }
  if (typeof row?.['hidden'] === 'string') {
    log.warn(
      `Row security applies to the gateway's role: rows of ${row['hidden']} that its policies hide count as missing.`,
    );
  }
}
