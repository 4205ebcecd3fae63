import { expect, vi } from 'vitest';

import { post } from './post.ts';
import type { LogEntry, Program } from './program.ts';

/** A string from callers and the store that must not appear in the log. */
export const SECRET = 'planted';

const now = performance.now.bind(performance);
let passedMs = 0;

/** Lets a second pass, after which a cause that was logged is logged again. */
export function letASecondPass(): void {
  passedMs += 1000;
  vi.spyOn(performance, 'now').mockImplementation(() => now() + passedMs);
}

export const ENDED = 'A request ended.';

/**
 * SQL that breaks the store of a running program: PostgreSQL rejects a new category with an error that quotes the row,
 * and a column of the stock and the table of orders are renamed.
 */
export const FAULTS = `
  alter table categories add needed text not null default '';
  alter table categories alter needed drop default;
  alter table inventory_items rename column quantity to number;
  alter table orders rename to gone`;

export async function findLine({ entries }: Program, response: Response): Promise<LogEntry> {
  await response.arrayBuffer();
  const requestId = response.headers.get('x-request-id');
  const isLine = (entry: LogEntry): boolean =>
    entry.msg === ENDED && entry['requestId'] === requestId;
  await expect.poll(() => entries.filter(isLine)).toHaveLength(1);
  return entries.find(isLine) ?? { msg: '' };
}

export async function expectLogged({ entries }: Program, fields: object): Promise<void> {
  await expect.poll(() => entries).toContainEqual(expect.objectContaining(fields));
}

/** Expects no data from callers or the store in the log, whatever fails. FAULTS must have been run on the store. */
export async function expectNoDataLogged(program: Program): Promise<void> {
  const Authorization = `Bearer ${SECRET}`;
  const named = { name: `${SECRET} 1` };
  const ask = (query: string, variables = {}, headers = {}): Promise<Response> =>
    post(program, { query, variables }, { headers });
  const create =
    'mutation ($name: String!) { createCategory(input: { name: $name }) { __typename } }';
  const outOfOrder = await ask(create, named, { Authorization });
  expect(await findLine(program, outOfOrder)).toMatchObject({ codes: ['INTERNAL_SERVER_ERROR'] });
  const responses = await Promise.all([
    ask(create, named, { Cookie: SECRET }),
    ask(create, { name: { [SECRET]: SECRET } }),
    ask(`{ pet(id: "${SECRET}") { name } }`),
    ask(`{ pets(after: "${SECRET}") { nodes { id } } }`),
    ask(
      'query ($n: String) { inventory { nodes { quantity } } pets(filter: { name: $n }) { totalCount nodes { inventory { quantity } } } }',
      { n: SECRET },
    ),
    ask(
      `mutation { placeOrder(input: { petId: "1", quantity: 1 }, idempotencyKey: "${SECRET}") { __typename } }`,
    ),
    fetch(`${program.url}/store/orders?limit=${SECRET}`, { headers: { Authorization } }),
    fetch(`${program.url}/store/orders`, { headers: { 'User-Agent': SECRET } }),
  ]);
  const lines = await Promise.all(responses.map((response) => findLine(program, response)));
  expect(lines.flatMap(({ codes }) => codes)).toContain('INTERNAL_SERVER_ERROR');
  expect(program.entries.filter(({ level }) => level === 50).length).toBeGreaterThan(3);
  expect(JSON.stringify(program.entries)).not.toContain(SECRET);
  const ofRequests = program.entries.filter((entry) => 'requestId' in entry);
  expect(JSON.stringify(ofRequests)).not.toContain('127.0.0.1');
}
