import { z } from 'zod';

import { isHost, isOrigin, isSafeUrl } from './addresses.ts';
import { findUrlFault } from './database-url.ts';

const whole = (
  least: number,
  most: number,
): z.ZodPipe<z.ZodString, z.ZodTransform<number, string>> => {
  const rule = `must be a whole number from ${least} to ${most}`;
  return z
    .string()
    .regex(/^\d{1,9}$/, rule)
    .transform(Number)
    .refine((value) => value >= least && value <= most, rule)
    .meta({ values: `${least} to ${most}` });
};

const toList = (words: readonly string[]): string =>
  `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;

const choice = <const Word extends string>(...words: Word[]): z.ZodEnum<{ [K in Word]: K }> =>
  z
    .enum(words, `must be ${toList(words)}`)
    .meta({ values: toList(words.map((word) => `\`${word}\``)) });

const flag = choice('true', 'false')
  .transform((word) => word === 'true')
  .meta({ values: '`true` or `false`' });

const variable = <Rule extends z.ZodType>(rule: Rule, description: string, reason: string): Rule =>
  rule.describe(description).meta({ reason });

const databaseUrl = z
  .string()
  .superRefine((url, context) => {
    const fault = findUrlFault(url);
    if (fault) context.addIssue(fault);
  })
  .optional();

/** Every environment variable. `npm run fix` writes them to docs/configuration.md. */
export const Variables = z.object({
  HOST: variable(
    z
      .string()
      // Accepts brackets, as in a URL: `[::1]`.
      .transform((host) => host.replace(/^\[(.*:.*)\]$/, '$1'))
      .refine(isHost, 'must be a host name or an IP address')
      .default('127.0.0.1'),
    'The address to listen on.',
    'other machines call the gateway',
  ),
  PORT: variable(
    whole(0, 65_535).default(4000),
    'The port to listen on; `0` picks a free one.',
    'the port is in use, or the platform assigns another port',
  ),
  DATA_DIR: variable(
    z.string().default('.data'),
    'The folder of the embedded database. Only one gateway at a time can use it.',
    'the data should be on another disk',
  ),
  DATABASE_URL: variable(
    databaseUrl,
    '`postgresql://…`: use this PostgreSQL server, or the primary behind this address, instead of ' +
      'the embedded database.',
    'several gateways share the data, or the data should be on a server',
  ),
  DATABASE_REPLICA_URL: variable(
    databaseUrl,
    'The URL of a replica that serves queries, or of a load balancer in front of several replicas.',
    'one server cannot handle all queries',
  ),
  PGBOUNCER: variable(
    flag.default(false),
    '`true`: do not use prepared statements or session state, because `DATABASE_URL` points to ' +
      'a pooler in transaction mode.',
    'the connections go through PgBouncer',
  ),
  POOL_SIZE: variable(
    whole(1, 1000).default(10),
    'The maximum number of pooled connections of a process, for each of the two addresses.',
    'PostgreSQL allows fewer connections, or has idle cores',
  ),
  CONNECT_TIMEOUT_MS: variable(
    whole(100, 600_000).default(5000),
    'How long a statement may wait for a connection to PostgreSQL.',
    'requests should fail faster, or wait longer during peaks',
  ),
  STATEMENT_TIMEOUT_MS: variable(
    whole(100, 600_000).default(10_000),
    'How long a statement may run on a PostgreSQL server.',
    'a large store needs more time, or a busy server needs protection',
  ),
  MIGRATE: variable(
    flag.default(true),
    '`false`: at startup, only check that all migrations have been applied; `npm run migrate` ' +
      'applies them.',
    'the gateway is not allowed to change tables',
  ),
  SAMPLE_STORE: variable(
    flag.optional(),
    'Whether to fill a new database with the sample store. By default, only the embedded ' +
      'database is filled.',
    'the embedded database should start empty, or a test server should start with data',
  ),
  IDEMPOTENCY_HOURS: variable(
    whole(1, 8760).default(24),
    'How long idempotency keys are kept.',
    'callers need more time to retry',
  ),
  CHANGES_HOURS: variable(
    whole(1, 8760).default(24),
    'How long changes are kept.',
    'subscribers stay disconnected for longer, or the disk is small',
  ),
  MAX_STREAMS: variable(
    whole(0, 1_000_000).default(5000),
    'The maximum number of subscriptions, and of WebSockets, per process.',
    'the machine can handle more subscribers, or cannot handle this many',
  ),
  MAX_STREAMS_PER_CALLER: variable(
    whole(0, 1_000_000).default(100),
    'The maximum number of subscriptions of a caller with a token, in each process. Also the ' +
      'maximum number of operations in progress on a WebSocket.',
    'a server subscribes for many users with one token',
  ),
  REQUEST_TIMEOUT_MS: variable(
    whole(100, 600_000).default(30_000),
    'How long a request may take to arrive, including its body. The headers may take at most ' +
      'one minute.',
    'callers have slow connections',
  ),
  RESPONSE_TIMEOUT_MS: variable(
    whole(100, 600_000).default(30_000),
    'How long a GraphQL operation may take once its request has arrived. After that, a query ' +
      'returns `SERVICE_UNAVAILABLE`. A mutation returns `OUTCOME_UNKNOWN`, because it may ' +
      'still complete.',
    'a proxy in front of the gateway times out earlier',
  ),
  MAX_COST: variable(
    whole(1, 100_000_000).default(100_000),
    'The maximum cost of an operation.',
    'a legitimate operation is too costly, or the database is too small for the default',
  ),
  MAX_RESPONSE_BYTES: variable(
    whole(10_000, 500_000_000).default(10_000_000),
    'The maximum size of the data in a GraphQL response.',
    'the process has little memory',
  ),
  MAX_UNSENT_BYTES: variable(
    whole(10_000, 900_000_000).default(200_000_000),
    'How much unsent response data each process may hold for slow clients; above that, it ' +
      'closes the connections whose clients have read nothing for longest.',
    'the process has little memory, or many slow clients',
  ),
  DOCUMENTS: variable(
    choice('any', 'automatic', 'trusted').default('any'),
    '`automatic`: once a document has been executed, its hash is enough; `trusted`: ' +
      'only documents in the manifest are executed.',
    'all clients are your own, or clients send long documents',
  ),
  DOCUMENTS_MANIFEST: variable(
    z.string().optional(),
    'The file with the trusted documents, such as the output of `npm run manifest`.',
    '`DOCUMENTS=trusted` requires it',
  ),
  MCP_OPERATIONS: variable(
    z.string().optional(),
    'The folder with the operations that agents can call as tools at `/mcp`, such as ' +
      '`src/store/tools`. If not set, there is no `/mcp`.',
    'agents use the store',
  ),
  AUTH: variable(
    choice('none', 'jwt').default('none'),
    '`none`: no authentication, by default allowed only on a loopback `HOST`; `jwt`: callers ' +
      'authenticate with a token.',
    'other machines can reach the gateway',
  ),
  AUTH_NONE_ANYWHERE: variable(
    flag.default(false),
    '`true`: allow `AUTH=none` on any `HOST`, and do not check the header `Host`.',
    'a proxy or a private network controls access',
  ),
  AUTH_JWKS_URL: variable(
    z
      .string()
      .refine(isSafeUrl, {
        error: 'must look like https://login.example/keys, without a password',
        abort: true,
      })
      .transform((text) => new URL(text))
      .optional(),
    'The URL of the public keys for tokens (JWKS). The keys are fetched again after a rotation.',
    'an identity provider issues the tokens',
  ),
  AUTH_SECRET: variable(
    z
      .string()
      .transform((text) => new TextEncoder().encode(text))
      .refine((secret) => secret.length >= 32, 'must be at least 32 bytes long (RFC 7518 §3.2)')
      .optional(),
    'The secret for signing tokens (HS256), at least 32 bytes; an alternative to ' +
      '`AUTH_JWKS_URL`.',
    'your own program issues the tokens',
  ),
  AUTH_ISSUER: variable(
    z.string().optional(),
    'The `iss` claim that a token must have.',
    '`AUTH=jwt` requires it',
  ),
  AUTH_AUDIENCE: variable(
    z.string().optional(),
    'The `aud` claim that a token must have.',
    '`AUTH=jwt` requires it',
  ),
  AUTH_READ: variable(
    choice('open', 'scope').default('scope'),
    '`open`: reading requires no token; `scope`: reading requires the scope `read`.',
    'the catalogue is public',
  ),
  NODE_ENV: variable(
    z.string().default('development'),
    '`production`: always log JSON; with `AUTH=jwt`, also turn off GraphiQL, introspection ' +
      'and suggestions in errors by default.',
    'the gateway runs in production',
  ),
  GRAPHIQL: variable(
    flag.optional(),
    'Whether to serve GraphiQL to browsers. The default depends on `NODE_ENV` and `AUTH`, and is ' +
      '`false` with `DOCUMENTS=trusted`.',
    'GraphiQL should be on in production, or off everywhere',
  ),
  INTROSPECTION: variable(
    flag.optional(),
    'Whether to allow introspection, `/schema.graphql` and suggestions in errors. The default ' +
      'depends on `NODE_ENV` and `AUTH`.',
    'tools need the schema in production, or the schema should be hidden everywhere',
  ),
  STOP_DELAY_MS: variable(
    whole(0, 600_000).default(1000),
    'How long a gateway that is shutting down still accepts requests, while `/ready` returns ' +
      '503.',
    'the load balancer takes longer to notice that a gateway is not ready',
  ),
  STOP_TIMEOUT_MS: variable(
    whole(0, 600_000).default(30_000),
    'After `STOP_DELAY_MS`, how long requests in flight may take before their connections are ' +
      'closed.',
    'the platform kills the process earlier',
  ),
  CORS_ORIGINS: variable(
    z
      .string()
      .transform((text) => text.split(',').map((origin) => origin.trim()))
      .refine(
        (origins) => origins.every((origin) => origin === '*' || isOrigin(origin)),
        'must be * or a comma-separated list of origins, such as https://shop.example or capacitor://localhost',
      )
      .readonly()
      .default([]),
    'The origins whose pages may call the gateway, separated by commas, or `*`. None by default.',
    'pages on other sites call the gateway',
  ),
  SUNSET: variable(
    choice('announce', 'enforce').default('announce'),
    '`enforce`: deprecated REST routes return 410 from their sunset date on.',
    'the last callers must migrate',
  ),
  SUNSET_DATE: variable(
    z.iso
      .date('must be a date, such as 2027-12-31')
      .transform((date) => new Date(date))
      .default(new Date('2027-12-31')),
    'The sunset date of deprecated REST routes.',
    'you have agreed on another date with the callers',
  ),
  LOG_LEVEL: variable(
    choice('debug', 'info', 'warn', 'error', 'silent').default('info'),
    'How much to log; `debug` includes SQL statements.',
    'you are investigating a problem, or the log is too long',
  ),
});

export type Environment = z.output<typeof Variables>;
