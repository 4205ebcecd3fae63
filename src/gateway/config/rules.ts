import { isLoopback } from './addresses.ts';
import type { Variables } from './variables.ts';

const OF_TOKENS = ['AUTH_JWKS_URL', 'AUTH_SECRET', 'AUTH_ISSUER', 'AUTH_AUDIENCE'] as const;

/** Rules that involve several variables: whether each is broken, by its message. */
const rulesOf = (set: Variables): Record<string, boolean> => ({
  'WORKERS needs DATABASE_URL: the embedded database is for one process':
    set.WORKERS > 1 && !set.DATABASE_URL,
  'DATABASE_REPLICA_URLS needs DATABASE_URL':
    set.DATABASE_REPLICA_URLS.length > 0 && !set.DATABASE_URL,
  'DOCUMENTS=trusted needs DOCUMENTS_MANIFEST':
    set.DOCUMENTS === 'trusted' && !set.DOCUMENTS_MANIFEST,
  ...Object.fromEntries(
    OF_TOKENS.map((name) => [
      `${name} needs AUTH=jwt`,
      set.AUTH === 'none' && set[name] !== undefined,
    ]),
  ),
  'HOST accepts other machines: set AUTH=jwt, or AUTH_NONE_ANYWHERE=true to allow access without tokens':
    set.AUTH === 'none' && !isLoopback(set.HOST) && !set.AUTH_NONE_ANYWHERE,
  'AUTH=jwt needs either AUTH_JWKS_URL or AUTH_SECRET':
    set.AUTH === 'jwt' && (set.AUTH_JWKS_URL === undefined) === (set.AUTH_SECRET === undefined),
  'AUTH=jwt needs AUTH_ISSUER and AUTH_AUDIENCE':
    set.AUTH === 'jwt' && !(set.AUTH_ISSUER && set.AUTH_AUDIENCE),
});

/** Returns the message of each broken rule that no variable can check alone. */
export const findContradictions = (variables: Variables): string[] =>
  Object.entries(rulesOf(variables)).flatMap(([message, isBroken]) => (isBroken ? message : []));
