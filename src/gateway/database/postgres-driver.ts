import type { Config } from '../config/config.ts';
import type { Log } from '../telemetry/log.ts';
import type { Primary } from './cluster/primary.ts';
import type { Driver } from './database.ts';
import { createPostgresProbe } from './postgres-probe.ts';
import { createServer, type Server } from './postgres-server.ts';
import { createAdapter } from './prisma-adapter.ts';
import { type Readiness, READINESS_SQL } from './probe.ts';
import { retryConflicts } from './retry.ts';
import type { Run } from './session.ts';

// PostgreSQL copies JSON as it writes it: a process needs ten times its size, 40 MB.
const MAX_JSON_BYTES = 4 * 2 ** 20;

/** Names the servers, for the log. */
export const describe = (servers: readonly Server[]): string =>
  `PostgreSQL at ${servers.map(({ name }) => name).join(', ')}`;

/** What each database on PostgreSQL has in common. */
export const driverOf = (
  { use, read }: Pick<Primary, 'use' | 'read'>,
  { pgbouncer, poolSize }: Config,
) => ({
  adapter: createAdapter((query) => retryConflicts(() => use(({ write }) => write(query)))),
  run: ((text, values, options) => {
    const onPrimary = options.writes ? use : read;
    return retryConflicts(() => onPrimary(({ run }) => run(text, values, options)));
  }) satisfies Run,
  transaction: <Result>(work: (run: Run) => Promise<Result>) =>
    retryConflicts(() => use(({ transaction }) => transaction(work))),
  // A pooler may give the next statement another connection.
  keepsPlans: !pgbouncer,
  maxJsonBytes: MAX_JSON_BYTES,
  maxHeavy: Math.ceil(poolSize / 2),
});

/** Opens the only server. */
export function openServer(url: string, config: Config, log: Log): Driver {
  const server = createServer(url, config, log, false);
  const onServer: Primary['use'] = (work) => work(server);
  const probe = createPostgresProbe<Readiness>(url, config, READINESS_SQL, ({ writes }) => !writes);
  return {
    ...driverOf({ use: onServer, read: onServer }, config),
    description: `${describe([server])}${new URL(url).pathname}`,
    poolUse: server.poolUse,
    probe,
    disconnect: async () => {
      probe.disconnect();
      await server.close();
    },
  };
}
