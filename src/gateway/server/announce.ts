import { type DocumentNode, type GraphQLSchema, NoDeprecatedCustomRule, validate } from 'graphql';

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
