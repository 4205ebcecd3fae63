import { isLoopback } from './addresses.ts';
import type { Variables } from './variables.ts';

interface Rule {
  readonly isBroken: (variables: Variables) => boolean;
  readonly message: string;
}

const OF_TOKENS = ['AUTH_JWKS_URL', 'AUTH_SECRET', 'AUTH_ISSUER', 'AUTH_AUDIENCE'] as const;

/** Rules that involve several variables. */
const RULES: readonly Rule[] = [
  {
    isBroken: ({ WORKERS, DATABASE_URL }) => WORKERS > 1 && !DATABASE_URL,
    message: 'WORKERS needs DATABASE_URL: the embedded database is for one process',
  },
  {
    isBroken: ({ DATABASE_REPLICA_URLS, DATABASE_URL }) =>
      DATABASE_REPLICA_URLS.length > 0 && !DATABASE_URL,
    message: 'DATABASE_REPLICA_URLS needs DATABASE_URL',
  },
  {
    isBroken: ({ DOCUMENTS, DOCUMENTS_MANIFEST }) => DOCUMENTS === 'trusted' && !DOCUMENTS_MANIFEST,
    message: 'DOCUMENTS=trusted needs DOCUMENTS_MANIFEST',
  },
  ...OF_TOKENS.map((name): Rule => ({
    isBroken: ({ AUTH, [name]: value }) => AUTH === 'none' && value !== undefined,
    message: `${name} needs AUTH=jwt`,
  })),
  {
    isBroken: ({ AUTH, HOST, AUTH_NONE_ANYWHERE }) =>
      AUTH === 'none' && !isLoopback(HOST) && !AUTH_NONE_ANYWHERE,
    message:
      'HOST accepts other machines: set AUTH=jwt, or AUTH_NONE_ANYWHERE=true to allow access without tokens',
  },
  {
    isBroken: ({ AUTH, AUTH_NONE_ANYWHERE }) => AUTH === 'jwt' && AUTH_NONE_ANYWHERE,
    message: 'AUTH_NONE_ANYWHERE has no effect with AUTH=jwt: remove one of them',
  },
  {
    isBroken: ({ AUTH, AUTH_JWKS_URL, AUTH_SECRET }) =>
      AUTH === 'jwt' && (AUTH_JWKS_URL === undefined) === (AUTH_SECRET === undefined),
    message: 'AUTH=jwt needs either AUTH_JWKS_URL or AUTH_SECRET',
  },
  {
    isBroken: ({ AUTH, AUTH_ISSUER, AUTH_AUDIENCE }) =>
      AUTH === 'jwt' && !(AUTH_ISSUER && AUTH_AUDIENCE),
    message: 'AUTH=jwt needs AUTH_ISSUER and AUTH_AUDIENCE',
  },
];

/** Returns the message of each broken rule that no variable can check alone. */
export const findContradictions = (variables: Variables): string[] =>
  RULES.flatMap(({ isBroken, message }) => (isBroken(variables) ? message : []));
