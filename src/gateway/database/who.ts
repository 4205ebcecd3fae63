import { LRUCache } from 'lru-cache';
import type { Sql } from 'sql-template-tag';

import type { Caller } from '../auth/caller.ts';
import type { RequestLog } from '../telemetry/request-log.ts';

/** Who made a change: a mutation's caller and request. */
export interface Who {
  readonly by?: string | undefined;
  readonly requestId: string;
  readonly operationName?: string | undefined;
}

/** Returns the JSON that is stored with the changes of a mutation. */
export const toWho = ({ subject: by }: Caller, { id, operationName }: RequestLog): string =>
  JSON.stringify({ by, requestId: id, operationName } satisfies Who);

/**
 * Returns the text for several requests that share a statement: in each changed row, the triggers look up the value of a
 * column (gateway-tables.sql). Of equal values, the first counts. What `toWho` returns contains no tab or line break.
 */
export const toSharedWho = (
  column: string,
  whos: readonly (readonly [value: bigint | string, who: string | undefined])[],
): string => [column, ...whos.map(([value, who = '']) => `${value}\t${who}`), ''].join('\n');

const START =
  /^(?:\s|--.*|\/\*[^]*?\*\/)*(?:(with\b(?:\s+recursive\b)?)|(?=(?:select|values|insert|update|delete|merge)\b))/i;
// Rewriting the text for each order would take a hundredth of its time.
const rewritten = new LRUCache<string, string>({ max: 500 });

/**
 * Makes a statement set `gateway.who` for its transaction: PostgreSQL executes an INSERT in WITH although nothing refers to
 * it, and before the triggers AFTER the statement, which store who made the changes. This one inserts nothing. A statement
 * that can't have a WITH, such as CALL, remains as it is.
 */
export function withWho(statement: Pick<Sql, 'text' | 'values'>, who: string) {
  const { text, values } = statement;
  let named = rewritten.get(text);
  if (named === undefined) {
    const cte = `"#who" as (insert into idempotency_keys (key, request_hash)
      select '', '' where set_config('gateway.who', $${values.length + 1}, true) is null)`;
    named = text.replace(START, (start, own) => `${start}${own ? ` ${cte},` : `with ${cte} `}`);
    rewritten.set(text, named);
  }
  return named === text ? statement : { text: named, values: [...values, who] };
}
