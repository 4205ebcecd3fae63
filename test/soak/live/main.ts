// Subscribers that are cut off, at two gateways whose database is written by mutations and by SQL, while
// connections, PostgreSQL and gateways fail: each receives each change once, in the order of the record.
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { createStoreOn, freePort, runSql, startPostgres } from '../../support/postgres.ts';
import { killPrograms, type Program, startProgram } from '../../support/program.ts';
import { Random } from '../random.ts';
import { Subscriber } from './subscriber.ts';
import { writeByMutations, writeBySql } from './writers.ts';

const PETS = 50;
const GATEWAYS = 2;
const SUBSCRIBERS = 50;
const MUTATION_WRITERS = 7;
const SQL_WRITERS = 3;
const FAULT_EVERY_MS = 8000;
const CUT_EVERY_MS = 150;
const MAX_WAIT_MS = 60_000;

const { values } = parseArgs({
  options: {
    changes: { type: 'string', default: '100000' },
    seed: { type: 'string', default: String(randomInt(1_000_000)) },
  },
});
const random = new Random(Number(values.seed));
const wanted = Number(values.changes);
const print = (text: string): void => void process.stdout.write(`${text}\n`);

const postgres = await startPostgres();
const databaseUrl = await createStoreOn(postgres.url);
await runSql(
  databaseUrl,
  `insert into categories (name) select 'Category ' || n from generate_series(1, 5) as n;
  insert into pets (name, category_id) select 'Pet ' || n, 1 + n % 5 from generate_series(1, ${PETS}) as n;
  insert into inventory_items (pet_id, quantity) select id, 1000000 from pets`,
);
/** The cursor of a row of the record, as the gateway writes it. */
const CURSOR = `translate(encode(convert_to('["RECORD","' || id || '","' || transaction || '"]', 'UTF8'), 'base64'), E'+/=\\n', '-_')`;
const ORDER = 'order by transaction, id';
const [first] = await runSql(
  databaseUrl,
  `select ${CURSOR} as cursor, transaction, id from changes order by transaction desc, id desc limit 1`,
);
const start = `(${String(first?.['transaction'])}, ${String(first?.['id'])})`;

const ports = await Promise.all(Array.from({ length: GATEWAYS }, freePort));
const gateways = new Map<number, Program>();
const startGateway = async (port: number): Promise<void> => {
  gateways.set(port, await startProgram({ DATABASE_URL: databaseUrl, PORT: String(port) }));
};
await Promise.all(ports.map(startGateway));
const urls = (): string[] => ports.map((port) => `http://127.0.0.1:${port}`);

const unexpected: string[] = [];
const subscribers = Array.from(
  { length: SUBSCRIBERS },
  () =>
    new Subscriber({ random, urls, pets: PETS, after: String(first?.['cursor']) }, (code) =>
      unexpected.push(code),
    ),
);
const writing = new AbortController();
const writers = [
  ...Array.from({ length: MUTATION_WRITERS }, () =>
    writeByMutations({ random, urls, pets: PETS }, writing.signal),
  ),
  ...Array.from({ length: SQL_WRITERS }, () =>
    writeBySql({ random, databaseUrl, pets: PETS }, writing.signal),
  ),
];

const countChanges = async (): Promise<number> => {
  const [row] = await runSql(databaseUrl, 'select count(*)::integer as count from changes');
  return Number(row?.['count']);
};

const faults = {
  'listening connections cut': () =>
    runSql(
      databaseUrl,
      `select pg_terminate_backend(pid) from pg_stat_activity
       where query in ('LISTEN store_changes', 'NOTIFY store_changes')`,
    ),
  'PostgreSQL restarted': async () => {
    await postgres.halt();
    await postgres.resume();
  },
  'PostgreSQL killed': async () => {
    await postgres.kill();
    await postgres.resume();
  },
  'gateway killed': async () => {
    const port = random.pick(ports);
    await gateways.get(port)?.stop('SIGKILL');
    await startGateway(port);
  },
  'gateway stopped': async () => {
    const port = random.pick(ports);
    await gateways.get(port)?.stop('SIGTERM');
    await startGateway(port);
  },
};
const injected = new Map<string, number>();

print(`Seed ${values.seed}, ${wanted} changes.`);
const began = performance.now();
const cutting = setInterval(() => random.pick(subscribers).cut(), CUT_EVERY_MS);
while ((await countChanges()) < wanted) {
  await sleep(FAULT_EVERY_MS);
  const name = random.pick(Object.keys(faults) as (keyof typeof faults)[]);
  await faults[name]();
  injected.set(name, (injected.get(name) ?? 0) + 1);
}
writing.abort();
await Promise.all(writers);
clearInterval(cutting);

/** Returns the cursors that a subscriber must have received. */
const expectedOf = async ({ interest }: Subscriber): Promise<string[]> => {
  const rows = await runSql(
    databaseUrl,
    `select ${CURSOR} as cursor from changes where (transaction, id) > ${start} and ${interest.sql} ${ORDER}`,
  );
  return rows.map(({ cursor }) => String(cursor));
};

/** Compares what a subscriber has received, once it has the last change or its time is over. */
const check = async (subscriber: Subscriber): Promise<string | undefined> => {
  const expected = await expectedOf(subscriber);
  const end = performance.now() + MAX_WAIT_MS;
  while (subscriber.cursors.at(-1) !== expected.at(-1) && performance.now() < end) await sleep(50);
  const { cursors, interest } = subscriber;
  const at = expected.findIndex((cursor, index) => cursor !== cursors[index]);
  if (at < 0 && cursors.length === expected.length) return undefined;
  const [place, count] = [at < 0 ? expected.length : at, `${cursors.length} of ${expected.length}`];
  return `${interest.field} { ${interest.filter} }: ${count} changes; the first difference is at ${place}.`;
};
const violations = [];
let received = 0;
for (const subscriber of subscribers) {
  const violation = await check(subscriber);
  if (violation) violations.push(violation);
  received += subscriber.cursors.length;
  subscriber.close();
}
print(`changes                ${await countChanges()}`);
print(`received               ${received}`);
print(`reconnects             ${subscribers.reduce((sum, { reconnects }) => sum + reconnects, 0)}`);
print(`seconds                ${Math.round((performance.now() - began) / 1000)}`);
for (const [name, times] of injected) print(`fault: ${name}  ${times}`);
print(`unexpected errors      ${unexpected.length} ${[...new Set(unexpected)].join()}`);
print(`violations             ${violations.length}`);
for (const violation of violations) print(violation);
await killPrograms();
await postgres.stop();
process.exit(violations.length + unexpected.length > 0 ? 1 : 0);
