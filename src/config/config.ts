import { resolve } from 'node:path';

import { Environment, isLoopback } from './environment.ts';

const HOUR_MS = 3_600_000;

/** What a request may have at most; the README's table says what each means. */
export interface Limits {
  readonly maxBodyBytes: number;
  readonly maxHeaderBytes: number;
  readonly maxUrlBytes: number;
  /** In UTF-16 code units. */
  readonly maxDocumentLength: number;
  readonly maxTokens: number;
  readonly maxDepth: number;
  readonly maxAliases: number;
  readonly maxDirectives: number;
  readonly maxFragments: number;
  readonly maxRootFields: number;
  readonly maxListSize: number;
  /** In UTF-16 code units. */
  readonly maxTextLength: number;
  readonly maxCost: number;
  /** Of the data of one answer of GraphQL. */
  readonly maxAnswerBytes: number;
  /** Of all answers together that wait for slow readers, in each process. */
  readonly maxUnsentBytes: number;
}

/** Who may call: tokens of an issuer for an audience, signed by its keys or with a shared secret. */
export interface Auth {
  readonly key: URL | Uint8Array;
  readonly issuer: string;
  readonly audience: string;
  /** Whether reading takes no token. */
  readonly readIsOpen: boolean;
}

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
  /** How long an operation may take from then on. */
  readonly answerTimeoutMs: number;
  readonly limits: Limits;
  /** Which documents run: any; also by their hash, once sent; those of the manifest alone. */
  readonly documents: Environment['DOCUMENTS'];
  /** The file of the manifest of trusted documents, absolute. */
  readonly manifest: string | undefined;
  /** Undefined where everybody may do everything. */
  readonly auth: Auth | undefined;
  /** Whether a Host is refused that another site could have lead here. */
  readonly checksHost: boolean;
  readonly graphiql: boolean;
  /** Whether callers can ask for the schema. */
  readonly introspection: boolean;
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
  readonly logLevel: Environment['LOG_LEVEL'];
  /** Whether NODE_ENV says so. */
  readonly production: boolean;
}

/** The configuration is wrong: the message names each variable and what it has to be. */
export class ConfigError extends Error {}

const OF_TOKENS = ['AUTH_JWKS_URL', 'AUTH_SECRET', 'AUTH_ISSUER', 'AUTH_AUDIENCE'] as const;

/** What no variable can tell alone, in the order in which it is asked for. */
function findContradiction(data: Environment): string | undefined {
  const keys = [data.AUTH_JWKS_URL, data.AUTH_SECRET].filter((key) => key !== undefined);
  const said = OF_TOKENS.filter((name) => data[name] !== undefined);
  const rules: [boolean, string][] = [
    [
      data.WORKERS > 1 && !data.DATABASE_URL,
      'WORKERS needs DATABASE_URL: the embedded database is for one process.',
    ],
    [
      data.DOCUMENTS === 'trusted' && !data.DOCUMENTS_MANIFEST,
      'DOCUMENTS=trusted needs DOCUMENTS_MANIFEST.',
    ],
    [
      data.AUTH === 'none' && said.length > 0,
      `AUTH has to be jwt for ${said.join(' and ')} to mean anything.`,
    ],
    [
      data.AUTH === 'jwt' && data.AUTH_NONE_ANYWHERE,
      'AUTH_NONE_ANYWHERE means nothing with AUTH=jwt.',
    ],
    [
      data.AUTH === 'none' && !isLoopback(data.HOST) && !data.AUTH_NONE_ANYWHERE,
      'HOST lets other machines in: set AUTH=jwt, or AUTH_NONE_ANYWHERE=true to let everybody do everything.',
    ],
    [
      data.AUTH === 'jwt' && keys.length !== 1,
      'AUTH=jwt needs either AUTH_JWKS_URL or AUTH_SECRET.',
    ],
    [
      data.AUTH === 'jwt' && !(data.AUTH_ISSUER && data.AUTH_AUDIENCE),
      'AUTH=jwt needs AUTH_ISSUER and AUTH_AUDIENCE.',
    ],
  ];
  return rules.find(([broken]) => broken)?.[1];
}

function toAuth(data: Environment): Auth | undefined {
  const key = data.AUTH_JWKS_URL ?? data.AUTH_SECRET;
  if (data.AUTH === 'none' || !key || !data.AUTH_ISSUER || !data.AUTH_AUDIENCE) return undefined;
  return {
    key,
    issuer: data.AUTH_ISSUER,
    audience: data.AUTH_AUDIENCE,
    readIsOpen: data.AUTH_READ === 'open',
  };
}

const toLimits = (data: Environment): Limits => ({
  maxBodyBytes: data.MAX_BODY_BYTES,
  maxHeaderBytes: data.MAX_HEADER_BYTES,
  maxUrlBytes: data.MAX_URL_BYTES,
  maxDocumentLength: data.MAX_DOCUMENT_LENGTH,
  maxTokens: data.MAX_TOKENS,
  maxDepth: data.MAX_DEPTH,
  maxAliases: data.MAX_ALIASES,
  maxDirectives: data.MAX_DIRECTIVES,
  maxFragments: data.MAX_FRAGMENTS,
  maxRootFields: data.MAX_ROOT_FIELDS,
  maxListSize: data.MAX_LIST_SIZE,
  maxTextLength: data.MAX_TEXT_LENGTH,
  maxCost: data.MAX_COST,
  maxAnswerBytes: data.MAX_ANSWER_BYTES,
  maxUnsentBytes: data.MAX_UNSENT_BYTES,
});

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
  const contradiction = findContradiction(data);
  if (contradiction) throw new ConfigError(contradiction);
  const auth = toAuth(data);
  const production = data.NODE_ENV === 'production';
  const isShown = !production || !auth;
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
    answerTimeoutMs: data.ANSWER_TIMEOUT_MS,
    limits: toLimits(data),
    documents: data.DOCUMENTS,
    manifest: data.DOCUMENTS_MANIFEST && resolve(data.DOCUMENTS_MANIFEST),
    auth,
    checksHost: !auth && !data.AUTH_NONE_ANYWHERE,
    // With trusted documents alone GraphiQL could run nothing.
    graphiql: data.GRAPHIQL ?? (isShown && data.DOCUMENTS !== 'trusted'),
    introspection: data.INTROSPECTION ?? isShown,
    workers: data.WORKERS,
    stopDelayMs: data.STOP_DELAY_MS,
    stopTimeoutMs: data.STOP_TIMEOUT_MS,
    corsOrigins: data.CORS_ORIGINS,
    sunset: data.SUNSET_DATE,
    enforceSunset: data.SUNSET === 'enforce',
    logLevel: data.LOG_LEVEL,
    production,
  });
}
