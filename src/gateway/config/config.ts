import { resolve } from 'node:path';

import { z } from 'zod';

import { isLoopback } from './addresses.ts';
import { type Environment, Variables } from './variables.ts';

const HOUR_MS = 3_600_000;

/** Returns undefined with AUTH=none, and for a configuration that is rejected because a setting is missing. */
function toAuth(variables: Environment) {
  const { AUTH, AUTH_ISSUER: issuer, AUTH_AUDIENCE: audience } = variables;
  const key = variables.AUTH_JWKS_URL ?? variables.AUTH_SECRET;
  if (AUTH === 'none' || !key || !issuer || !audience) return undefined;
  return Object.freeze({ key, issuer, audience, readIsOpen: variables.AUTH_READ === 'open' });
}

/** Fixed limits on a request, far above what legitimate clients send; the limit on its cost is a setting. */
const REQUEST_LIMITS = {
  maxBodyBytes: 1_000_000,
  /** The request line and the headers together. */
  maxHeaderBytes: 16_384,
  /** The length of a document, in UTF-16 code units. */
  maxDocumentLength: 50_000,
  maxTokens: 5000,
  /** The nesting of fields. */
  maxDepth: 20,
  maxAliases: 100,
  maxDirectives: 50,
  maxFragments: 50,
  maxRootFields: 50,
  /** The length of an input string, in UTF-16 code units. */
  maxTextLength: 10_000,
  /** How long a new document may wait to be checked. If it waited longer, clients might time out. */
  maxDocumentWaitMs: 2000,
};

const toLimits = (variables: Environment) =>
  Object.freeze({
    ...REQUEST_LIMITS,
    maxCost: variables.MAX_COST,
    maxResponseBytes: variables.MAX_RESPONSE_BYTES,
    maxUnsentBytes: variables.MAX_UNSENT_BYTES,
    maxStreams: variables.MAX_STREAMS,
    maxStreamsPerCaller: variables.MAX_STREAMS_PER_CALLER,
  });

function toConfig(variables: Environment) {
  const auth = toAuth(variables);
  const production = variables.NODE_ENV === 'production';
  const isOpenByDefault = !production || !auth;
  return {
    host: variables.HOST,
    port: variables.PORT,
    dataDir: resolve(variables.DATA_DIR),
    databaseUrl: variables.DATABASE_URL,
    replicaUrl: variables.DATABASE_REPLICA_URL,
    pgbouncer: variables.PGBOUNCER,
    poolSize: variables.POOL_SIZE,
    connectTimeoutMs: variables.CONNECT_TIMEOUT_MS,
    statementTimeoutMs: variables.STATEMENT_TIMEOUT_MS,
    migrate: variables.MIGRATE,
    sampleStore: variables.SAMPLE_STORE ?? !variables.DATABASE_URL,
    idempotencyMs: variables.IDEMPOTENCY_HOURS * HOUR_MS,
    changesMs: variables.CHANGES_HOURS * HOUR_MS,
    requestTimeoutMs: variables.REQUEST_TIMEOUT_MS,
    responseTimeoutMs: variables.RESPONSE_TIMEOUT_MS,
    limits: toLimits(variables),
    documents: variables.DOCUMENTS,
    manifest: variables.DOCUMENTS_MANIFEST && resolve(variables.DOCUMENTS_MANIFEST),
    mcpOperations: variables.MCP_OPERATIONS && resolve(variables.MCP_OPERATIONS),
    auth,
    // Without tokens, a page on another site could call the gateway through DNS rebinding: a host name of that site can
    // resolve to this machine.
    checksHost: !auth && !variables.AUTH_NONE_ANYWHERE,
    // GraphiQL is useless if only trusted documents are allowed.
    graphiql: variables.GRAPHIQL ?? (isOpenByDefault && variables.DOCUMENTS !== 'trusted'),
    introspection: variables.INTROSPECTION ?? isOpenByDefault,
    stopDelayMs: variables.STOP_DELAY_MS,
    stopTimeoutMs: variables.STOP_TIMEOUT_MS,
    corsOrigins: variables.CORS_ORIGINS,
    sunset: variables.SUNSET_DATE,
    enforceSunset: variables.SUNSET === 'enforce',
    logLevel: variables.LOG_LEVEL,
    production,
    warnings: Object.entries(warningsOf(variables)).flatMap(([text, applies]) =>
      applies ? text : [],
    ),
  };
}

/** Returns what the log should warn about: each warning, and whether it applies. */
const warningsOf = (set: Environment): Record<string, boolean> => ({
  [`NODE_ENV=${set.NODE_ENV} has the effect of NODE_ENV=development.`]:
    !/^(development|production|test)$/.test(set.NODE_ENV),
  'PGBOUNCER=true has no effect without DATABASE_URL.': set.PGBOUNCER && !set.DATABASE_URL,
  'AUTH_READ=open has no effect with AUTH=none.': set.AUTH === 'none' && set.AUTH_READ === 'open',
  'AUTH_NONE_ANYWHERE=true has no effect with AUTH=jwt.':
    set.AUTH === 'jwt' && set.AUTH_NONE_ANYWHERE,
});

const OF_TOKENS = ['AUTH_JWKS_URL', 'AUTH_SECRET', 'AUTH_ISSUER', 'AUTH_AUDIENCE'] as const;

/** Returns the rules that involve several variables: the message of each rule, and whether the rule is broken. */
const rulesOf = (set: Environment): Record<string, boolean> => ({
  'DATABASE_REPLICA_URL requires DATABASE_URL': !!set.DATABASE_REPLICA_URL && !set.DATABASE_URL,
  // A pooler would reject the parameter, or pass the search path on to its other clients.
  'PGBOUNCER=true requires search_path to be set for the role, not with the parameter schema':
    set.PGBOUNCER && /[?&]schema=/.test(`${set.DATABASE_URL} ${set.DATABASE_REPLICA_URL}`),
  'DOCUMENTS=trusted requires DOCUMENTS_MANIFEST':
    set.DOCUMENTS === 'trusted' && !set.DOCUMENTS_MANIFEST,
  ...Object.fromEntries(
    OF_TOKENS.map((name) => [
      `${name} requires AUTH=jwt`,
      set.AUTH === 'none' && set[name] !== undefined,
    ]),
  ),
  'HOST is reachable from other machines: set AUTH=jwt, or AUTH_NONE_ANYWHERE=true to allow access without tokens':
    set.AUTH === 'none' && !isLoopback(set.HOST) && !set.AUTH_NONE_ANYWHERE,
  'AUTH=jwt requires either AUTH_JWKS_URL or AUTH_SECRET':
    set.AUTH === 'jwt' && (set.AUTH_JWKS_URL === undefined) === (set.AUTH_SECRET === undefined),
  'AUTH=jwt requires AUTH_ISSUER and AUTH_AUDIENCE':
    set.AUTH === 'jwt' && !(set.AUTH_ISSUER && set.AUTH_AUDIENCE),
});

const removed = (message: string) => z.undefined(message).optional();

/** Settings that release 4.0 removed, and what has become of them. */
const REMOVED = {
  WORKERS: removed(
    'has been removed: start several gateways behind a load balancer such as HAProxy',
  ),
  DATABASE_REPLICA_URLS: removed(
    'has been replaced by DATABASE_REPLICA_URL: the one address of a replica, or of a load balancer such as HAProxy',
  ),
  REPLICA_MAX_LAG_MS: removed(
    'has been removed: limit the lag in the load balancer to which DATABASE_REPLICA_URL leads',
  ),
};

const Configuration = Variables.extend(REMOVED)
  .transform((variables, context) => {
    for (const [rule, isBroken] of Object.entries(rulesOf(variables))) {
      if (isBroken) context.addIssue(rule);
    }
    return toConfig(variables);
  })
  .readonly();

export type Config = z.output<typeof Configuration>;

export type Limits = Config['limits'];

export type Auth = NonNullable<Config['auth']>;

/** The configuration can't be used. The message names the variables that must be changed, and says why. */
export class ConfigError extends Error {}

/** Reads and checks the configuration; an empty variable counts as not set. @throws ConfigError */
export function readConfig(environment: NodeJS.ProcessEnv = process.env): Config {
  const set = Object.entries(environment).filter(([, value]) => value !== '');
  const { data, error } = Configuration.safeParse(Object.fromEntries(set));
  if (data) return data;
  throw new ConfigError(
    error.issues.map(({ path, message }) => `${[...path, message].join(' ')}.`).join(' '),
  );
}
