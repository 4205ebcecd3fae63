import { type DocumentNode, type GraphQLSchema, NoDeprecatedCustomRule, validate } from 'graphql';
import sql, { raw } from 'sql-template-tag';

import type { Database } from '../database/database.ts';
import type { Store } from '../store.ts';
import type { Log } from '../telemetry/log.ts';

const MAX_NAMES = 10;

/** Warns about each deprecated part of the schema that the operator's documents use. `noun` says what they are. */
export function announceDeprecated(
  noun: string,
  documents: ReadonlyMap<string, { readonly parsed: DocumentNode }>,
  schema: GraphQLSchema,
  log: Log,
): void {
  const users = new Map<string, Set<string>>();
  for (const [name, { parsed }] of documents) {
    for (const { message } of validate(schema, parsed, [NoDeprecatedCustomRule])) {
      users.set(message, (users.get(message) ?? new Set()).add(`${noun} ${name}`));
    }
  }
  for (const [message, names] of users) {
    const [first, others] = [[...names].slice(0, MAX_NAMES), names.size - MAX_NAMES];
    log.warn(`${message} Used by ${first.join(', ')}${others > 0 ? ` and ${others} more` : ''}.`);
  }
}

/** Warns about columns that contain `infinity` or `-infinity`, which only SQL can write. */
export async function announceInfinite(
  db: Database,
  { changedTypes }: Store,
  log: Log,
): Promise<void> {
  for (const { name, fields } of changedTypes.values()) {
    for (const { ownColumn: column, isNullable, kind } of Object.values(fields)) {
      if (!kind.isSendable) continue;
      // An index on the sort's key finds them, and the missing times, which count as infinite.
      const key = kind.sort.sql(column, isNullable);
      const where = `${key} in ('infinity', '-infinity') and ${column} is not null`;
      const found = await db.query(sql`select from ${raw(`${name} where ${where}`)} limit 1`, {
        load: 'heavy',
      });
      if (found.length === 0) continue;
      log.warn(
        `${name}.${column} has rows with infinity or -infinity, which a later release will replace by null.`,
      );
    }
  }
}
