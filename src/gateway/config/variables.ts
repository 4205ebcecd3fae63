import { z } from 'zod';

import { isHost, isOrigin, isSafeUrl } from './addresses.ts';
import { isDatabaseUrl } from './database-url.ts';
import { choice, flag, whole } from './variable-types.ts';

const DATABASE_URL_RULE =
  'must be like postgresql://user@host:5432/name, with each @ / ? and # of a password percent-encoded (@ as %40)';

/**
 * Every environment variable with its rule, its default, its description and the reason to set it.
 * `npm run fix` prints them to docs/configuration.md.
 */
export const Variables = z.object({
  HOST: z
    .string()
    // As in a URL: `[::1]`.
    .transform((host) => host.replace(/^\[(.*:.*)\]$/, '$1'))
    .refine(isHost, 'must be a host name or an address')
    .default('127.0.0.1')
    .describe('The address to listen on.')
    .meta({ reason: 'other machines call the gateway' }),
  PORT: whole(0, 65_535)
    .default(4000)
    .describe('The port to listen on; `0` takes a free one.')
    .meta({ reason: 'the port is taken, or the platform names another' }),
  DATA_DIR: z
    .string()
    .default('.data')
    .describe('The folder of the embedded database. One gateway at a time can use it.')
    .meta({ reason: 'the data belongs on another disk' }),
  DATABASE_URL: z
    .string()
    .refine(isDatabaseUrl, DATABASE_URL_RULE)
    .optional()
    .describe(
      '`postgresql://…`: use this PostgreSQL instead of the embedded database. With several hosts (`postgresql://a,b,c/store`), the one that accepts writes.',
    )
    .meta({ reason: 'the data should be on a server, shared by several gateways' }),
  DATABASE_REPLICA_URLS: z
    .string()
    .transform((urls) => urls.split(/\s+/).filter(Boolean))
    .refine((urls) => urls.every(isDatabaseUrl), DATABASE_URL_RULE)
    .default([])
    .describe(
      'URLs of streaming replicas that queries may read, separated by spaces, each with one host or several, or the URL of a balancer.',
    )
    .meta({ reason: 'queries are more than one server can answer' }),
  REPLICA_MAX_LAG_MS: whole(1000, 3_600_000)
    .default(5000)
    .describe('How far behind the primary a replica may be to be asked.')
    .meta({ reason: 'callers accept older data, or need newer' }),
  PGBOUNCER: flag
    .default(false)
    .describe(
      '`true` if `DATABASE_URL` is a pooler in transaction mode: no prepared statements and no session state.',
    )
    .meta({ reason: 'the connections go through PgBouncer' }),
  POOL_SIZE: whole(1, 1000)
    .default(10)
    .describe('The maximum number of connections to PostgreSQL of each process.')
    .meta({ reason: 'PostgreSQL allows fewer connections, or has cores to spare' }),
  CONNECT_TIMEOUT_MS: whole(100, 600_000)
    .default(5000)
    .describe('How long a statement may wait for a connection to PostgreSQL.')
    .meta({
      reason: 'callers should sooner get `SERVICE_UNAVAILABLE`, or peaks should be waited out',
    }),
  STATEMENT_TIMEOUT_MS: whole(100, 600_000)
    .default(10_000)
    .describe('How long a statement may take on PostgreSQL.')
    .meta({ reason: 'a large store needs longer, or a busy server should be spared' }),
  MIGRATE: flag
    .default(true)
    .describe(
      '`false`: only check at startup that all migrations are applied; `npm run migrate` applies them.',
    )
    .meta({ reason: 'the gateway has no right to change tables' }),
  SAMPLE_STORE: flag
    .optional()
    .describe(
      'Fill a new database with the sample store; by default only if it is the embedded one.',
    )
    .meta({ reason: 'an embedded store should begin empty, or a test server filled' }),
  IDEMPOTENCY_HOURS: whole(1, 8760)
    .default(24)
    .describe('How long idempotency keys are kept.')
    .meta({ reason: 'callers repeat requests later than that' }),
  CHANGES_HOURS: whole(1, 8760)
    .default(24)
    .describe('How long changes are kept.')
    .meta({ reason: 'subscribers are away longer, or the disk is small' }),
  MAX_STREAMS: whole(0, 1_000_000)
    .default(5000)
    .describe('The maximum number of subscriptions of a process, and of WebSockets.')
    .meta({ reason: 'the machine has room for more subscribers, or for fewer' }),
  MAX_STREAMS_PER_CALLER: whole(0, 1_000_000)
    .default(100)
    .describe('The same for each caller with a token, and for each WebSocket.')
    .meta({ reason: 'a server subscribes for many users with one token' }),
  REQUEST_TIMEOUT_MS: whole(100, 600_000)
    .default(30_000)
    .describe(
      'How long a request may take to arrive: its headers (at most one minute) and its body.',
    )
    .meta({ reason: 'callers have slow connections' }),
  RESPONSE_TIMEOUT_MS: whole(100, 600_000)
    .default(30_000)
    .describe(
      'How long a GraphQL operation may take after its request has arrived; then it returns `SERVICE_UNAVAILABLE`, or `OUTCOME_UNKNOWN` for a mutation, which may still be done.',
    )
    .meta({ reason: 'a proxy in front gives up earlier' }),
  MAX_COST: whole(1, 100_000_000)
    .default(100_000)
    .describe('The maximum cost of an operation.')
    .meta({
      reason: 'an honest operation is too costly, or the database too small for the default',
    }),
  MAX_RESPONSE_BYTES: whole(10_000, 500_000_000)
    .default(10_000_000)
    .describe('The maximum size of the data of a GraphQL response.')
    .meta({ reason: 'the process has little memory' }),
  MAX_UNSENT_BYTES: whole(10_000, 900_000_000)
    .default(200_000_000)
    .describe(
      'How much response data may wait for slow readers, in each process; beyond it the connections with the most unsent data are closed.',
    )
    .meta({ reason: 'the process has little memory, or many slow readers' }),
  DOCUMENTS: choice('any', 'automatic', 'trusted')
    .default('any')
    .describe(
      '`automatic`: a document that was sent once with its hash can be requested by the hash; `trusted`: only documents of the manifest run.',
    )
    .meta({ reason: 'the clients are your own, or send long documents' }),
  DOCUMENTS_MANIFEST: z
    .string()
    .optional()
    .describe('The file of the trusted documents, for example from `npm run manifest`.')
    .meta({ reason: '`DOCUMENTS=trusted` needs it' }),
  AUTH: choice('none', 'jwt')
    .default('none')
    .describe(
      "`none`: everybody may do everything, allowed only for a `HOST` that other machines can't reach; `jwt`: callers need a token.",
    )
    .meta({ reason: 'other machines reach the gateway' }),
  AUTH_NONE_ANYWHERE: flag
    .default(false)
    .describe('`true`: allow `AUTH=none` for any `HOST`.')
    .meta({ reason: 'a proxy or a closed network decides who may call' }),
  AUTH_JWKS_URL: z
    .string()
    .refine(isSafeUrl, {
      error: 'must be like https://login.example/keys, without a password',
      abort: true,
    })
    .transform((text) => new URL(text))
    .optional()
    .describe(
      'The URL of the public keys of the tokens (JWKS). They are fetched again when they change.',
    )
    .meta({ reason: 'an identity provider issues the tokens' }),
  AUTH_SECRET: z
    .string()
    .transform((text) => new TextEncoder().encode(text))
    .refine((secret) => secret.length >= 32, 'must have at least 32 bytes (RFC 7518 §3.2)')
    .optional()
    .describe(
      'The secret that tokens are signed with (HS256), at least 32 bytes; instead of `AUTH_JWKS_URL`.',
    )
    .meta({ reason: 'your own program issues the tokens' }),
  AUTH_ISSUER: z
    .string()
    .optional()
    .describe('The `iss` that a token must have.')
    .meta({ reason: '`AUTH=jwt` needs it' }),
  AUTH_AUDIENCE: z
    .string()
    .optional()
    .describe('The `aud` that a token must have.')
    .meta({ reason: '`AUTH=jwt` needs it' }),
  AUTH_READ: choice('open', 'scope')
    .default('scope')
    .describe('`open`: reading needs no token; `scope`: reading needs the scope `read`.')
    .meta({ reason: 'the catalogue is public' }),
  NODE_ENV: z
    .string()
    .default('development')
    .describe(
      '`production`: the log is always JSON; together with `AUTH=jwt`, GraphiQL, introspection and suggestions in errors are off by default.',
    )
    .meta({ reason: 'the gateway runs in production' }),
  GRAPHIQL: flag
    .optional()
    .describe(
      'Serve GraphiQL to browsers; the default depends on `NODE_ENV`, and is `false` with `DOCUMENTS=trusted`.',
    )
    .meta({ reason: 'colleagues use GraphiQL in production, or nobody should anywhere' }),
  INTROSPECTION: flag
    .optional()
    .describe(
      'Allow introspection, `/schema.graphql` and suggestions in errors; the default depends on `NODE_ENV`.',
    )
    .meta({ reason: 'tools need the schema in production, or nobody should see it anywhere' }),
  WORKERS: whole(1, 256)
    .default(1)
    .describe(
      'The number of processes that share the port. A process that dies is replaced. More than one needs `DATABASE_URL`.',
    )
    .meta({ reason: 'one core is not enough' }),
  STOP_DELAY_MS: whole(0, 600_000)
    .default(1000)
    .describe('How long a gateway that is stopping still accepts requests, with `/ready` at 503.')
    .meta({ reason: 'the load balancer notices later that a gateway is not ready' }),
  STOP_TIMEOUT_MS: whole(0, 600_000)
    .default(30_000)
    .describe('How long open requests may then take before their connections are closed.')
    .meta({ reason: 'the platform kills a stopping process earlier' }),
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
    )
    .meta({ reason: 'pages of other sites call the gateway' }),
  SUNSET: choice('announce', 'enforce')
    .default('announce')
    .describe('`enforce`: a deprecated REST route returns 410 from its sunset on.')
    .meta({ reason: 'its last callers have to move' }),
  SUNSET_DATE: z.iso
    .date('must be a date like 2027-12-31')
    .transform((date) => new Date(date))
    .default(new Date('2027-12-31'))
    .describe('The sunset of deprecated REST routes.')
    .meta({ reason: 'you agreed on another date with its callers' }),
  LOG_LEVEL: choice('debug', 'info', 'warn', 'error', 'silent')
    .default('info')
    .describe('How much is logged; `debug` logs every SQL statement.')
    .meta({ reason: 'you look for a fault, or the log is too long' }),
});

export type Variables = z.output<typeof Variables>;
