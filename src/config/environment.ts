import { z } from 'zod';

import { REST_LIFECYCLES, type RestLifecycle, toDay } from '../contract/lifecycle.ts';

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
const lifecycles: RestLifecycle[] = Object.values(REST_LIFECYCLES);
const deprecations = lifecycles.flatMap(({ deprecatedSince }) => deprecatedSince ?? []);
const lastDeprecation = new Date(Math.max(...deprecations.map(Number)));

const isOrigin = (text: string): boolean => URL.canParse(text) && new URL(text).origin === text;

/** Whether a host is this machine alone. */
export const isLoopback = (host: string): boolean =>
  /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/.test(host);

/** Whether keys can be fetched from there without anybody on the way putting in their own. */
function isSafeUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
}

/** Every environment variable, each with its rule and its default. */
export const Environment = z.object({
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
  ANSWER_TIMEOUT_MS: whole(100, 600_000).default(30_000),
  MAX_BODY_BYTES: whole(1000, 100_000_000).default(1_000_000),
  MAX_HEADER_BYTES: whole(2000, 1_000_000).default(16_384),
  MAX_URL_BYTES: whole(100, 1_000_000).default(8000),
  MAX_DOCUMENT_LENGTH: whole(100, 10_000_000).default(50_000),
  MAX_TOKENS: whole(10, 1_000_000).default(5000),
  MAX_DEPTH: whole(1, 100).default(20),
  MAX_ALIASES: whole(0, 100_000).default(100),
  MAX_DIRECTIVES: whole(0, 100_000).default(50),
  MAX_FRAGMENTS: whole(0, 10_000).default(50),
  MAX_ROOT_FIELDS: whole(1, 10_000).default(50),
  MAX_LIST_SIZE: whole(20, 1000).default(100),
  MAX_TEXT_LENGTH: whole(2000, 10_000_000).default(10_000),
  MAX_COST: whole(1, 100_000_000).default(50_000),
  MAX_ANSWER_BYTES: whole(10_000, 500_000_000).default(10_000_000),
  MAX_UNSENT_BYTES: whole(10_000, 900_000_000).default(200_000_000),
  DOCUMENTS: z
    .enum(['any', 'automatic', 'trusted'], 'has to be any, automatic or trusted')
    .default('any'),
  DOCUMENTS_MANIFEST: z.string().optional(),
  AUTH: z.enum(['none', 'jwt'], 'has to be none or jwt').default('none'),
  AUTH_NONE_ANYWHERE: flag.default(false),
  AUTH_JWKS_URL: z
    .string()
    .refine(isSafeUrl, 'has to be like https://login.example/keys')
    .transform((text) => new URL(text))
    .optional(),
  AUTH_SECRET: z
    .string()
    .transform((text) => new TextEncoder().encode(text))
    .refine((secret) => secret.length >= 32, 'has to have at least 32 bytes (RFC 7518 §3.2)')
    .optional(),
  AUTH_ISSUER: z.string().optional(),
  AUTH_AUDIENCE: z.string().optional(),
  AUTH_READ: z.enum(['open', 'scope'], 'has to be open or scope').default('scope'),
  NODE_ENV: z.string().default('development'),
  GRAPHIQL: flag.optional(),
  INTROSPECTION: flag.optional(),
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

export type Environment = z.infer<typeof Environment>;
