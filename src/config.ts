import { resolve } from 'node:path';

import { z } from 'zod';

import { PET_BY_ID } from './lifecycle.ts';

const Environment = z.object({
  HOST: z.string().min(1, 'has to be a host name or an address').default('127.0.0.1'),
  PORT: z
    .string()
    .regex(/^\d{1,5}$/, 'has to be a port, 0 to 65535')
    .transform(Number)
    .refine((port) => port <= 65_535, 'has to be a port, 0 to 65535')
    .default(4000),
  DATA_DIR: z.string().min(1, 'has to be a folder').default('.data'),
  DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/, error: 'has to be like postgresql://user@host:5432/name' })
    .optional(),
  SAMPLE_STORE: z.enum(['true', 'false'], 'has to be true or false').optional(),
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
  /** Whether a new database is filled with the sample store. */
  readonly sampleStore: boolean;
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
  return Object.freeze({
    host: data.HOST,
    port: data.PORT,
    dataDir: resolve(data.DATA_DIR),
    databaseUrl: data.DATABASE_URL,
    sampleStore: data.SAMPLE_STORE ? data.SAMPLE_STORE === 'true' : !data.DATABASE_URL,
    sunset: data.SUNSET_DATE,
    logLevel: data.LOG_LEVEL,
  });
}
