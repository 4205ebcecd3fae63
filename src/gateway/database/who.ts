import { LRUCache } from 'lru-cache';
import type { Sql } from 'sql-template-tag';

import type { Caller } from '../auth/caller.ts';
import type { RequestLog } from '../telemetry/request-log.ts';
import type { Recipient } from './recipient.ts';

// Most ids are UUIDs. Each order stores one, so it is stored as 23 characters; no other id contains `=`.
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}(?![\da-f])/;
const pack = (uuid: string): string =>
  `=${Buffer.from(uuid.replaceAll('-', ''), 'hex').toString('base64url')}`;
const unpack = (packed: string): string =>
  Buffer.from(packed.slice(1), 'base64url')
    .toString('hex')
    .replace(/(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');

/** Returns what is stored with the changes of a mutation: who made them. */
export const toWho = ({ subject = '' }: Caller, { id, operationName = '' }: RequestLog): string =>
  `${id.replace(UUID, pack)} ${operationName} ${subject}`;

/** Parses what is stored of who made a change: nothing if SQL or an earlier release made it. */
export function parseWho(stored: string, row: Readonly<Record<string, unknown>>) {
  // The requests that shared a statement (model/loaders.ts).
  const whos: string[][] = stored.startsWith('[') ? JSON.parse(stored) : [];
  const own = whos.find(([column = '', value]) => row[column] === value)?.[2] ?? stored;
  const [, id, operationName, by] = /^([\w.:=-]+) (\w*) (.*)$/s.exec(own) ?? [];
  return { by, operationName, requestId: id?.replace(/^=[\w-]{22}/, unpack) };
}

const START =
  /^(?:\s|--.*|\/\*[^]*?\*\/)*(?:(with\b(?:\s+recursive\b)?)|(?=(?:select|values|insert|update|delete|merge)\b))/i;
// Rewriting the text for each order would take a hundredth of its time.
const rewritten = new LRUCache<string, string>({ max: 500 });

/**
 * Makes a statement set `gateway.who` for its transaction: PostgreSQL executes an INSERT in WITH although nothing refers to
 * it, and before the triggers AFTER the statement, which store who made the changes. This one inserts nothing. A statement
 * that can't have a WITH, such as CALL, remains as it is.
 */
export function withWho(statement: Pick<Sql, 'text' | 'values'>, recipient?: Recipient) {
  if (recipient?.who === undefined) return statement;
  const { text, values } = statement;
  let named = rewritten.get(text);
  if (named === undefined) {
    const cte = `"#who" as (insert into idempotency_keys (key, request_hash)
      select '', '' where set_config('gateway.who', $${values.length + 1}, true) is null)`;
    named = text.replace(START, (start, own) => `${start}${own ? ` ${cte},` : `with ${cte} `}`);
    rewritten.set(text, named);
  }
  return named === text ? statement : { text: named, values: [...values, recipient.who] };
}
