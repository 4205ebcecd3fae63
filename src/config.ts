import { resolve } from 'node:path';

import { z } from 'zod';

import { REST_LIFECYCLES, type RestLifecycle, toDay } from './lifecycle.ts';

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
const lifecycles: RestLifecycle[] = Object.values(REST_LIFECYCLES);
const deprecations = lifecycles.flatMap(({ deprecatedSince }) => deprecatedSince ?? []);
const lastDeprecation = new Date(Math.max(...deprecations.map(Number)));

const isOrigin = (text: string): boolean => URL.canParse(text) && new URL(text).origin === text;

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
  REQUEST_TIMEOUT_MS: whole(100, 600_000).default(30_000),
  WORKERS: whole(1, 256).default(1),
  STOP_DELAY_MS: whole(0, 600_000).default(1000),
  STOP_TIMEOUT_MS: whole(0, 600_000).default(30_000),
  CORS_ORIGINS: z
    .string()
    .transform((text) => text.split(',').map((origin) => origin.trim()))
    .refine(
      (origins) => origins.every((origin) => origin === '*' || isOrigin(origin)),
      'has to be * or origins like https://shop.example, with commas between',
    )
    .default([]),
  SUNSET: z.enum(['announce', 'enforce'], 'has to be announce or enforce').default('announce'),
  SUNSET_DATE: z.iso
    .date('has to be a date like 2027-12-31')
    .transform((date) => new Date(date))
    .refine(
      (date) => date >= lastDeprecation,
      `can't be before the deprecation, ${toDay(lastDeprecation)}`,
    )
    .default(new Date('2027-12-31')),
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
  /** How long a request may take to arrive. */
  readonly requestTimeoutMs: number;
  /** Processes that share the port. */
  readonly workers: number;
  /** How long requests are still taken, with /ready at 503, when the gateway stops. */
  readonly stopDelayMs: number;
  /** How long open requests may then take. */
  readonly stopTimeoutMs: number;
  /** The web sites whose pages may call; `*` for any. */
  readonly corsOrigins: readonly string[];
  /** When the deprecated REST operations may stop working. */
  readonly sunset: Date;
  /** Whether they do. */
  readonly enforceSunset: boolean;
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
    requestTimeoutMs: data.REQUEST_TIMEOUT_MS,
    workers: data.WORKERS,
    stopDelayMs: data.STOP_DELAY_MS,
    stopTimeoutMs: data.STOP_TIMEOUT_MS,
    corsOrigins: data.CORS_ORIGINS,
    sunset: data.SUNSET_DATE,
    enforceSunset: data.SUNSET === 'enforce',
    logLevel: data.LOG_LEVEL,
  });
}
