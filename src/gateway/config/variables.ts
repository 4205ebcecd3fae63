import { z } from 'zod';

import { isHost, isOrigin, isSafeUrl } from './addresses.ts';
import { findUrlFault } from './database-url.ts';
import { choice, flag, whole } from './variable-types.ts';

const databaseUrl = z
  .string()
  .superRefine((url, context) => {
    const fault = findUrlFault(url);
    if (fault) context.addIssue(fault);
  })
  .optional();

/**
 * Every environment variable, with its rule, its default, its description and a reason to set it. `npm run fix`
 * writes them to docs/configuration.md.
 */
export const Variables = z.object({
  HOST: z
    .string()
    // Accepts brackets, as in a URL: `[::1]`.
    .transform((host) => host.replace(/^\[(.*:.*)\]$/, '$1'))
    .refine(isHost, 'must be a host name or an IP address')
    .default('127.0.0.1')
    .describe('The address to listen on.')
    .meta({ reason: 'other machines call the gateway' }),
  PORT: whole(0, 65_535)
    .default(4000)
    .describe('The port to listen on; `0` picks a free one.')
    .meta({ reason: 'the port is in use, or the platform assigns another port' }),
  DATA_DIR: z
    .string()
    .default('.data')
    .describe('The folder of the embedded database. Only one gateway at a time can use it.')
    .meta({ reason: 'the data should be on another disk' }),
  DATABASE_URL: databaseUrl
    .describe(
      '`postgresql://…`: use this PostgreSQL server, or the primary behind this address, instead of ' +
        'the embedded database.',
    )
    .meta({ reason: 'several gateways share the data, or the data should be on a server' }),
  DATABASE_REPLICA_URL: databaseUrl
    .describe(
      'The URL of a replica that serves queries, or of a load balancer in front of several replicas.',
    )
    .meta({ reason: 'one server cannot handle all queries' }),
  PGBOUNCER: flag
    .default(false)
    .describe(
      '`true`: do not use prepared statements or session state, because `DATABASE_URL` points to ' +
        'a pooler in transaction mode.',
    )
    .meta({ reason: 'the connections go through PgBouncer' }),
  POOL_SIZE: whole(1, 1000)
    .default(10)
    .describe(
      'The maximum number of pooled connections of a process, for each of the two addresses.',
    )
    .meta({ reason: 'PostgreSQL allows fewer connections, or has idle cores' }),
  CONNECT_TIMEOUT_MS: whole(100, 600_000)
    .default(5000)
    .describe('How long a statement may wait for a connection to PostgreSQL.')
    .meta({ reason: 'requests should fail faster, or wait longer during peaks' }),
  STATEMENT_TIMEOUT_MS: whole(100, 600_000)
    .default(10_000)
    .describe('How long a statement may run on a PostgreSQL server.')
    .meta({ reason: 'a large store needs more time, or a busy server needs protection' }),
  MIGRATE: flag
    .default(true)
    .describe(
      '`false`: at startup, only check that all migrations have been applied; `npm run migrate` ' +
        'applies them.',
    )
    .meta({ reason: 'the gateway is not allowed to change tables' }),
  SAMPLE_STORE: flag
    .optional()
    .describe(
      'Whether to fill a new database with the sample store. By default, only the embedded ' +
        'database is filled.',
    )
    .meta({
      reason: 'the embedded database should start empty, or a test server should start with data',
    }),
  IDEMPOTENCY_HOURS: whole(1, 8760)
    .default(24)
    .describe('How long idempotency keys are kept.')
    .meta({ reason: 'callers need more time to retry' }),
  CHANGES_HOURS: whole(1, 8760)
    .default(24)
    .describe('How long changes are kept.')
    .meta({ reason: 'subscribers stay disconnected for longer, or the disk is small' }),
  MAX_STREAMS: whole(0, 1_000_000)
    .default(5000)
    .describe('The maximum number of subscriptions, and of WebSockets, per process.')
    .meta({ reason: 'the machine can handle more subscribers, or cannot handle this many' }),
  MAX_STREAMS_PER_CALLER: whole(0, 1_000_000)
    .default(100)
    .describe(
      'The maximum number of subscriptions of a caller with a token, in each process. Also the ' +
        'maximum number of operations in progress on a WebSocket.',
    )
    .meta({ reason: 'a server subscribes for many users with one token' }),
  REQUEST_TIMEOUT_MS: whole(100, 600_000)
    .default(30_000)
    .describe(
      'How long a request may take to arrive, including its body. The headers may take at most ' +
        'one minute.',
    )
    .meta({ reason: 'callers have slow connections' }),
  RESPONSE_TIMEOUT_MS: whole(100, 600_000)
    .default(30_000)
    .describe(
      'How long a GraphQL operation may take once its request has arrived. After that, a query ' +
        'returns `SERVICE_UNAVAILABLE`. A mutation returns `OUTCOME_UNKNOWN`, because it may ' +
        'still complete.',
    )
    .meta({ reason: 'a proxy in front of the gateway times out earlier' }),
  MAX_COST: whole(1, 100_000_000)
    .default(100_000)
    .describe('The maximum cost of an operation.')
    .meta({
      reason: 'a legitimate operation is too costly, or the database is too small for the default',
    }),
  MAX_RESPONSE_BYTES: whole(10_000, 500_000_000)
    .default(10_000_000)
    .describe('The maximum size of the data in a GraphQL response.')
    .meta({ reason: 'the process has little memory' }),
  MAX_UNSENT_BYTES: whole(10_000, 900_000_000)
    .default(200_000_000)
    .describe(
      'How much unsent response data each process may hold for slow clients; above that, it ' +
        'closes the connections whose clients have read nothing for longest.',
    )
    .meta({ reason: 'the process has little memory, or many slow clients' }),
  DOCUMENTS: choice('any', 'automatic', 'trusted')
    .default('any')
    .describe(
      '`automatic`: once a document has been executed, its hash is enough; `trusted`: ' +
        'only documents in the manifest are executed.',
    )
    .meta({ reason: 'all clients are your own, or clients send long documents' }),
  DOCUMENTS_MANIFEST: z
    .string()
    .optional()
    .describe('The file with the trusted documents, such as the output of `npm run manifest`.')
    .meta({ reason: '`DOCUMENTS=trusted` requires it' }),
  MCP_OPERATIONS: z
    .string()
    .optional()
    .describe(
      'The folder with the operations that agents can call as tools at `/mcp`, such as ' +
        '`src/store/tools`. If not set, there is no `/mcp`.',
    )
    .meta({ reason: 'agents use the store' }),
  AUTH: choice('none', 'jwt')
    .default('none')
    .describe(
      '`none`: no authentication, by default allowed only on a loopback `HOST`; `jwt`: callers ' +
        'authenticate with a token.',
    )
    .meta({ reason: 'other machines can reach the gateway' }),
  AUTH_NONE_ANYWHERE: flag
    .default(false)
    .describe('`true`: allow `AUTH=none` on any `HOST`, and do not check the header `Host`.')
    .meta({ reason: 'a proxy or a private network controls access' }),
  AUTH_JWKS_URL: z
    .string()
    .refine(isSafeUrl, {
      error: 'must look like https://login.example/keys, without a password',
      abort: true,
    })
    .transform((text) => new URL(text))
    .optional()
    .describe(
      'The URL of the public keys for tokens (JWKS). The keys are fetched again after a rotation.',
    )
    .meta({ reason: 'an identity provider issues the tokens' }),
  AUTH_SECRET: z
    .string()
    .transform((text) => new TextEncoder().encode(text))
    .refine((secret) => secret.length >= 32, 'must be at least 32 bytes long (RFC 7518 §3.2)')
    .optional()
    .describe(
      'The secret for signing tokens (HS256), at least 32 bytes; an alternative to ' +
        '`AUTH_JWKS_URL`.',
    )
    .meta({ reason: 'your own program issues the tokens' }),
  AUTH_ISSUER: z
    .string()
    .optional()
    .describe('The `iss` claim that a token must have.')
    .meta({ reason: '`AUTH=jwt` requires it' }),
  AUTH_AUDIENCE: z
    .string()
    .optional()
    .describe('The `aud` claim that a token must have.')
    .meta({ reason: '`AUTH=jwt` requires it' }),
  AUTH_READ: choice('open', 'scope')
    .default('scope')
    .describe('`open`: reading requires no token; `scope`: reading requires the scope `read`.')
    .meta({ reason: 'the catalogue is public' }),
  NODE_ENV: z
    .string()
    .default('development')
    .describe(
      '`production`: always log JSON; with `AUTH=jwt`, also turn off GraphiQL, introspection ' +
        'and suggestions in errors by default.',
    )
    .meta({ reason: 'the gateway runs in production' }),
  GRAPHIQL: flag
    .optional()
    .describe(
      'Whether to serve GraphiQL to browsers. The default depends on `NODE_ENV` and `AUTH`, and is ' +
        '`false` with `DOCUMENTS=trusted`.',
    )
    .meta({ reason: 'GraphiQL should be on in production, or off everywhere' }),
  INTROSPECTION: flag
    .optional()
    .describe(
      'Whether to allow introspection, `/schema.graphql` and suggestions in errors. The default ' +
        'depends on `NODE_ENV` and `AUTH`.',
    )
    .meta({
      reason: 'tools need the schema in production, or the schema should be hidden everywhere',
    }),
  STOP_DELAY_MS: whole(0, 600_000)
    .default(1000)
    .describe(
      'How long a gateway that is shutting down still accepts requests, while `/ready` returns ' +
        '503.',
    )
    .meta({ reason: 'the load balancer takes longer to notice that a gateway is not ready' }),
  STOP_TIMEOUT_MS: whole(0, 600_000)
    .default(30_000)
    .describe(
      'After `STOP_DELAY_MS`, how long requests in flight may take before their connections are ' +
        'closed.',
    )
    .meta({ reason: 'the platform kills the process earlier' }),
  CORS_ORIGINS: z
    .string()
    .transform((text) => text.split(',').map((origin) => origin.trim()))
    .refine(
      (origins) => origins.every((origin) => origin === '*' || isOrigin(origin)),
      'must be * or a comma-separated list of origins, such as https://shop.example or capacitor://localhost',
    )
    .readonly()
    .default([])
    .describe(
      'The origins whose pages may call the gateway, separated by commas, or `*`. None by default.',
    )
    .meta({ reason: 'pages on other sites call the gateway' }),
  SUNSET: choice('announce', 'enforce')
    .default('announce')
    .describe('`enforce`: deprecated REST routes return 410 from their sunset date on.')
    .meta({ reason: 'the last callers must migrate' }),
  SUNSET_DATE: z.iso
    .date('must be a date, such as 2027-12-31')
    .transform((date) => new Date(date))
    .default(new Date('2027-12-31'))
    .describe('The sunset date of deprecated REST routes.')
    .meta({ reason: 'you have agreed on another date with the callers' }),
  LOG_LEVEL: choice('debug', 'info', 'warn', 'error', 'silent')
    .default('info')
    .describe('How much to log; `debug` includes SQL statements.')
    .meta({ reason: 'you are investigating a problem, or the log is too long' }),
});

export type Variables = z.output<typeof Variables>;
