import { z } from 'zod';

import { REST_LIFECYCLES, type RestLifecycle, toDay } from '../contract/lifecycle.ts';
import { hasCredentials, isHost, isOrigin, isSafeUrl } from './addresses.ts';
import { isDatabaseUrl, isOfPrimary } from './database-url.ts';
import { choice, flag, whole } from './variable-types.ts';

const DATABASE_URL_RULE =
  'must be like postgresql://user@host:5432/name, with each @ / ? and # of a password percent-encoded (@ as %40)';

const lifecycles: RestLifecycle[] = Object.values(REST_LIFECYCLES);
const deprecations = lifecycles.flatMap(({ deprecatedSince }) => deprecatedSince ?? []);
const lastDeprecation = new Date(Math.max(...deprecations.map(Number)));

/**
 * Every environment variable with its rule, its default and its description. `npm run configuration`
 * prints them to docs/configuration.md.
 */
export const Variables = z.object({
  HOST: z
    .string()
    // As in a URL: `[::1]`.
    .transform((host) => host.replace(/^\[(.*:.*)\]$/, '$1'))
    .refine(isHost, 'must be a host name or an address')
    .default('127.0.0.1')
    .describe('The address to listen on.'),
  PORT: whole(0, 65_535).default(4000).describe('The port to listen on; `0` takes a free one.'),
  DATA_DIR: z
    .string()
    .default('.data')
    .describe('The folder of the embedded database. One gateway at a time can use it.'),
  DATABASE_URL: z
    .string()
    .refine(isDatabaseUrl, { error: DATABASE_URL_RULE, abort: true })
    .refine(isOfPrimary, 'with several hosts must have target_session_attrs=read-write, or none')
    .optional()
    .describe(
      '`postgresql://…`: use this PostgreSQL instead of the embedded database. With several hosts (`postgresql://a,b,c/store`), the one that accepts writes.',
    ),
  DATABASE_REPLICA_URLS: z
    .string()
    .transform((urls) => urls.split(/\s+/).filter(Boolean))
    .refine((urls) => urls.every(isDatabaseUrl), DATABASE_URL_RULE)
    .default([])
    .describe(
      'URLs of streaming replicas that queries may read, separated by spaces, each with one host or several, or the URL of a balancer.',
    ),
  REPLICA_MAX_LAG_MS: whole(1000, 3_600_000)
    .default(5000)
    .describe('How far behind the primary a replica may be to be asked.'),
  PGBOUNCER: flag
    .default(false)
    .describe(
      '`true` if `DATABASE_URL` is a pooler in transaction mode: no prepared statements and no session state.',
    ),
  POOL_SIZE: whole(1, 1000)
    .default(10)
    .describe('The maximum number of connections to PostgreSQL of each process.'),
  CONNECT_TIMEOUT_MS: whole(100, 600_000)
    .default(5000)
    .describe('How long a statement may wait for a connection to PostgreSQL.'),
  STATEMENT_TIMEOUT_MS: whole(100, 600_000)
    .default(10_000)
    .describe('How long a statement may take on PostgreSQL.'),
  MIGRATE: flag
    .default(true)
    .describe(
      '`false`: only check at startup that all migrations are applied; `npm run migrate` applies them.',
    ),
  SAMPLE_STORE: flag
    .optional()
    .describe(
      'Fill a new database with the sample store; by default only if it is the embedded one.',
    ),
  IDEMPOTENCY_HOURS: whole(1, 8760).default(24).describe('How long idempotency keys are kept.'),
  CHANGES_HOURS: whole(1, 8760).default(24).describe('How long changes are kept.'),
  MAX_STREAMS: whole(0, 1_000_000)
    .default(5000)
    .describe('The maximum number of subscriptions of a process, and of WebSockets.'),
  MAX_STREAMS_PER_CALLER: whole(0, 1_000_000)
    .default(100)
    .describe('The same for each caller with a token, and for each WebSocket.'),
  REQUEST_TIMEOUT_MS: whole(100, 600_000)
    .default(30_000)
    .describe(
      'How long a request may take to arrive: its headers (at most one minute) and its body.',
    ),
  ANSWER_TIMEOUT_MS: whole(100, 600_000)
    .default(30_000)
    .describe(
      'How long a GraphQL operation may take after its request has arrived; then it returns `SERVICE_UNAVAILABLE`, or `OUTCOME_UNKNOWN` for a mutation, which may still be done.',
    ),
  COMPILE_QUERIES: flag
    .default(true)
    .describe('`false`: do not execute repeated queries by a single SQL statement.'),
  MAX_BODY_BYTES: whole(1000, 100_000_000)
    .default(1_000_000)
    .describe('The maximum size of a request body.'),
  MAX_HEADER_BYTES: whole(2000, 1_000_000)
    .default(16_384)
    .describe('The maximum size of the request line and the headers together.'),
  MAX_URL_BYTES: whole(100, 1_000_000).default(8000).describe('The maximum length of a URL.'),
  MAX_DOCUMENT_LENGTH: whole(100, 10_000_000)
    .default(50_000)
    .describe('The maximum number of characters (UTF-16 code units) of a GraphQL document.'),
  MAX_TOKENS: whole(10, 1_000_000)
    .default(5000)
    .describe('The maximum number of lexical tokens of a document.'),
  MAX_DEPTH: whole(1, 100)
    .default(20)
    .describe('The maximum nesting of fields and inline fragments.'),
  MAX_ALIASES: whole(0, 100_000)
    .default(100)
    .describe(
      'The maximum number of aliases, and of selections that are repeated in one selection set.',
    ),
  MAX_DIRECTIVES: whole(0, 100_000)
    .default(50)
    .describe('The maximum number of directives of a document.'),
  MAX_FRAGMENTS: whole(0, 10_000)
    .default(50)
    .describe('The maximum number of named fragments of a document.'),
  MAX_ROOT_FIELDS: whole(1, 10_000)
    .default(50)
    .describe('The maximum number of root fields of an operation.'),
  MAX_LIST_SIZE: whole(20, 1000)
    .default(100)
    .describe(
      'The maximum number of rows of a page, and of values of a list or an object in the input.',
    ),
  MAX_TEXT_LENGTH: whole(2000, 10_000_000)
    .default(10_000)
    .describe('The maximum number of characters (UTF-16 code units) of a string in the input.'),
  MAX_COST: whole(1, 100_000_000).default(100_000).describe('The maximum cost of an operation.'),
  MAX_ANSWER_BYTES: whole(10_000, 500_000_000)
    .default(10_000_000)
    .describe('The maximum size of the data of a GraphQL response.'),
  MAX_UNSENT_BYTES: whole(10_000, 900_000_000)
    .default(200_000_000)
    .describe(
      'How much response data may wait for slow readers, in each process; beyond it the connections with the most unsent data are closed.',
    ),
  DOCUMENTS: choice('any', 'automatic', 'trusted')
    .default('any')
    .describe(
      '`automatic`: a document that was sent once with its hash can be requested by the hash; `trusted`: only documents of the manifest run.',
    ),
  DOCUMENTS_MANIFEST: z
    .string()
    .optional()
    .describe('The file of the trusted documents, for example from `npm run manifest`.'),
  AUTH: choice('none', 'jwt')
    .default('none')
    .describe(
      "`none`: everybody may do everything, allowed only for a `HOST` that other machines can't reach; `jwt`: callers need a token.",
    ),
  AUTH_NONE_ANYWHERE: flag.default(false).describe('`true`: allow `AUTH=none` for any `HOST`.'),
  AUTH_JWKS_URL: z
    .string()
    .refine(isSafeUrl, { error: 'must be like https://login.example/keys', abort: true })
    // No fetch would accept them, and its error has them in its message.
    .refine((text) => !hasCredentials(text), 'must have no user name and no password')
    .transform((text) => new URL(text))
    .optional()
    .describe(
      'The URL of the public keys of the tokens (JWKS). They are fetched again when they change.',
    ),
  AUTH_SECRET: z
    .string()
    .transform((text) => new TextEncoder().encode(text))
    .refine((secret) => secret.length >= 32, 'must have at least 32 bytes (RFC 7518 §3.2)')
    .optional()
    .describe(
      'The secret that tokens are signed with (HS256), at least 32 bytes; instead of `AUTH_JWKS_URL`.',
    ),
  AUTH_ISSUER: z.string().optional().describe('The `iss` that a token must have.'),
  AUTH_AUDIENCE: z.string().optional().describe('The `aud` that a token must have.'),
  AUTH_READ: choice('open', 'scope')
    .default('scope')
    .describe('`open`: reading needs no token; `scope`: reading needs the scope `read`.'),
  NODE_ENV: z
    .string()
    .default('development')
    .describe(
      '`production`: the log is always JSON; together with `AUTH=jwt`, GraphiQL, introspection and suggestions in errors are off by default.',
    ),
  GRAPHIQL: flag
    .optional()
    .describe(
      'Serve GraphiQL to browsers; the default depends on `NODE_ENV`, and is `false` with `DOCUMENTS=trusted`.',
    ),
  INTROSPECTION: flag
    .optional()
    .describe(
      'Allow introspection, `/schema.graphql` and suggestions in errors; the default depends on `NODE_ENV`.',
    ),
  WORKERS: whole(1, 256)
    .default(1)
    .describe(
      'The number of processes that share the port. A process that dies is replaced. More than one needs `DATABASE_URL`.',
    ),
  STOP_DELAY_MS: whole(0, 600_000)
    .default(1000)
    .describe('How long a gateway that is stopping still accepts requests, with `/ready` at 503.'),
  STOP_TIMEOUT_MS: whole(0, 600_000)
    .default(30_000)
    .describe('How long open requests may then take before their connections are closed.'),
  CORS_ORIGINS: z
    .string()
    .transform((text) => text.split(',').map((origin) => origin.trim()))
    .refine(
      (origins) => origins.every((origin) => origin === '*' || isOrigin(origin)),
      'must be * or origins like https://shop.example, separated by commas',
    )
    .readonly()
    .default([])
    .describe(
      'The origins whose pages may call the gateway, separated by commas, or `*`; none by default.',
    ),
  SUNSET: choice('announce', 'enforce')
    .default('announce')
    .describe('`enforce`: `GET /pets/{petId}` returns 410 from its sunset on.'),
  SUNSET_DATE: z.iso
    .date('must be a date like 2027-12-31')
    .transform((date) => new Date(date))
    .refine(
      (date) => date >= lastDeprecation,
      `can't be before the deprecation, ${toDay(lastDeprecation)}`,
    )
    .default(new Date('2027-12-31'))
    .describe('The sunset of `GET /pets/{petId}`.'),
  LOG_LEVEL: choice('debug', 'info', 'warn', 'error', 'silent')
    .default('info')
    .describe('How much is logged; `debug` logs every SQL statement.'),
});

export type Variables = z.output<typeof Variables>;
