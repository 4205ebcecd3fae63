import { resolve } from 'node:path';

import { z } from 'zod';

import { PET_BY_ID } from './lifecycle.ts';

const whole = (
  least: number,
  most: number,
): z.ZodPipe<z.ZodString, z.ZodTransform<number, string>> => {
  const rule = `has to be a whole number, ${least} to ${most}`;
  return z
    .string()
    .regex(/^\d{1,9}$/, rule)
    .transform(Number)
    .refine((value) => value >= least && value <= most, rule);
};
const flag = z
  .enum(['true', 'false'], 'has to be true or false')
  .transform((text) => text === 'true');
const HOUR_MS = 3_600_000;

const Environment = z.object({
  HOST: z.string().min(1, 'has to be a host name or an address').default('127.0.0.1'),
  PORT: whole(0, 65_535).default(4000),
  DATA_DIR: z.string().min(1, 'has to be a folder').default('.data'),
  DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/, error: 'has to be like postgresql://user@host:5432/name' })
    .optional(),
  PGBOUNCER: flag.default(false),
  POOL_SIZE: whole(1, 1000).default(10),
  CONNECT_TIMEOUT_MS: whole(100, 600_000).default(5000),
  STATEMENT_TIMEOUT_MS: whole(100, 600_000).default(10_000),
  MIGRATE: flag.default(true),
  SAMPLE_STORE: flag.optional(),
  IDEMPOTENCY_HOURS: whole(1, 8760).default(24),
  WORKERS: whole(1, 256).default(1),
  STOP_DELAY_MS: whole(0, 600_000).default(1000),
  STOP_TIMEOUT_MS: whole(0, 600_000).default(30_000),
  SUNSET_DATE: z.iso
    .date('has to be a date like 2027-12-31')
    .transform((date) => new Date(`${date}T00:00:00Z`))
    .refine(
      (date) => date >= PET_BY_ID.since,
      `can't be before the deprecation, ${PET_BY_ID.since.toISOString().slice(0, 10)}`,
    )
    .default(new Date('2027-12-31T00:00:00Z')),
  LOG_LEVEL: z
    .enum(
      ['debug', 'info', 'warn', 'error', 'silent'],
      'has to be debug, info, warn, error or silent',
    )
    .default('info'),
});

/** Everything that an operator can set; the README's table says what each does. */
export interface Config {
  readonly host: string;
  /** 0 lets the system choose a free one. */
  readonly port: number;
  /** The folder of the embedded database, absolute. */
  readonly dataDir: string;
  /** A PostgreSQL to use instead of the embedded database. */
  readonly databaseUrl: string | undefined;
  /** Whether a pooler in transaction mode lies between. */
  readonly pgbouncer: boolean;
  /** Connections to PostgreSQL, at most, of each process. */
  readonly poolSize: number;
  /** How long a statement may wait for a connection. */
  readonly connectTimeoutMs: number;
  /** How long a statement may take. */
  readonly statementTimeoutMs: number;
  /** Whether the start brings the database up to date. */
  readonly migrate: boolean;
  /** Whether a new database is filled with the sample store. */
  readonly sampleStore: boolean;
  /** How long an idempotency key is kept. */
  readonly idempotencyMs: number;
  /** Processes that share the port. */
  readonly workers: number;
  /** How long requests are still taken, with /ready at 503, when the gateway stops. */
  readonly stopDelayMs: number;
  /** How long open requests may then take. */
  readonly stopTimeoutMs: number;
  /** When GET /pets/{petId} may stop working. */
  readonly sunset: Date;
  readonly logLevel: z.infer<typeof Environment>['LOG_LEVEL'];
}

/** The configuration is wrong: the message names each variable and what it has to be. */
export class ConfigError extends Error {}

/**
 * Reads the configuration; an empty variable counts as unset.
 * @throws ConfigError
 */
export function readConfig(environment: NodeJS.ProcessEnv = process.env): Config {
  const set = Object.entries(environment).filter(([, value]) => value !== '');
  const { data, error } = Environment.safeParse(Object.fromEntries(set));
  if (error) {
    throw new ConfigError(
      error.issues.map(({ path, message }) => `${path.join('.')} ${message}.`).join(' '),
    );
  }
  if (data.WORKERS > 1 && !data.DATABASE_URL) {
    throw new ConfigError('WORKERS needs DATABASE_URL: the embedded database is for one process.');
  }
  return Object.freeze({
    host: data.HOST,
    port: data.PORT,
    dataDir: resolve(data.DATA_DIR),
    databaseUrl: data.DATABASE_URL,
    pgbouncer: data.PGBOUNCER,
    poolSize: data.POOL_SIZE,
    connectTimeoutMs: data.CONNECT_TIMEOUT_MS,
    statementTimeoutMs: data.STATEMENT_TIMEOUT_MS,
    migrate: data.MIGRATE,
    sampleStore: data.SAMPLE_STORE ?? !data.DATABASE_URL,
    idempotencyMs: data.IDEMPOTENCY_HOURS * HOUR_MS,
    workers: data.WORKERS,
    stopDelayMs: data.STOP_DELAY_MS,
    stopTimeoutMs: data.STOP_TIMEOUT_MS,
    sunset: data.SUNSET_DATE,
    logLevel: data.LOG_LEVEL,
  });
}
