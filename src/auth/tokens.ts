import { createSecretKey } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

import {
  createRemoteJWKSet,
  customFetch,
  errors,
  type FetchImplementation,
  type JWTVerifyGetKey,
  jwtVerify,
} from 'jose';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';

import type { Auth } from '../config/config.ts';
import { Forbidden, StoreError, Unauthenticated } from '../contract/errors.ts';
import { Subject } from '../contract/values.ts';

const SCOPES = ['read', 'pets:write', 'inventory:write', 'orders:write', 'metrics'] as const;

/** What a token can let its bearer do. */
export type Scope = (typeof SCOPES)[number];

/** Who calls, and what it may do. */
export interface Caller {
  /** The `sub` of its token; undefined without one. */
  readonly subject: string | undefined;
  readonly scopes: ReadonlySet<string>;
}

/** Finds out who calls by the headers of a request. @throws Unauthenticated, StoreError */
export type Identify = (headers: IncomingHttpHeaders) => Promise<Caller>;

const EVERYBODY: Caller = { subject: undefined, scopes: new Set(SCOPES) };

// One scheme, in upper or lower case, and one token (RFC 6750 §2.1).
const BEARER = /^Bearer +([\w.~+/-]+=*)$/i;

// A secret may only be used as one, and a public key never (RFC 8725 §3.1).
const SYMMETRIC = ['HS256'];
const ASYMMETRIC = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');

const CLOCK_TOLERANCE_SECONDS = 5;
const KEYS_TIMEOUT_MS = 5000;
// A key that is gone is trusted for so long; one that is new is looked for so often.
const KEYS_AGE_MS = 600_000;
const KEYS_COOLDOWN_MS = 30_000;
// While no keys can be had, each token would ask for them.
const KEYS_RETRY_MS = 1000;

// A check takes as long as a small operation, and most tokens come again at once.
const TRUST_MS = 10_000;
const MAX_TRUSTED = 1000;

// Another kind of token of the same issuer is no token for us (RFC 8725 §3.11).
const TokenHeader = z.object({
  typ: z
    .string()
    .regex(/^(application\/)?(at\+)?jwt$/i)
    .optional(),
});

const Claims = z.object({
  sub: Subject,
  exp: z.number(),
  scope: z.string().default(''),
  scp: z.union([z.string(), z.array(z.string())]).default(''),
});

const scopesOf = ({ scope, scp }: z.output<typeof Claims>): string[] =>
  [scope, scp].flat().flatMap((list) => list.split(' '));

function tokenOf({ authorization }: IncomingHttpHeaders): string | undefined {
  if (authorization === undefined) return undefined;
  const token = BEARER.exec(authorization)?.[1];
  if (!token) throw new Unauthenticated('The header Authorization has to be Bearer and a token.');
  return token;
}

const unchecked = (cause: unknown): StoreError =>
  new StoreError('SERVICE_UNAVAILABLE', 'Tokens can not be checked now.', cause);

/** Makes what fetches the keys, but not again at once. */
function createKeysFetch(): FetchImplementation {
  let next = 0;
  return async (url, options) => {
    if (Date.now() < next) throw new Error('The keys were asked for a moment ago.');
    next = Date.now() + KEYS_RETRY_MS;
    return fetch(url, options);
  };
}

/** Makes what finds the key of a token: a set that can't be fetched is no fault of the token. */
function createKeyFinder(url: URL): JWTVerifyGetKey {
  const find = createRemoteJWKSet(url, {
    timeoutDuration: KEYS_TIMEOUT_MS,
    cacheMaxAge: KEYS_AGE_MS,
    cooldownDuration: KEYS_COOLDOWN_MS,
    [customFetch]: createKeysFetch(),
  });
  return async (header, token) => {
    try {
      return await find(header, token);
    } catch (error) {
      const isOfToken =
        error instanceof errors.JWKSNoMatchingKey ||
        error instanceof errors.JWKSMultipleMatchingKeys ||
        error instanceof errors.JOSENotSupported;
      if (isOfToken) throw error;
      throw unchecked(error);
    }
  };
}

/** Makes what always gives a secret. */
function createKeyHolder(secret: Uint8Array): JWTVerifyGetKey {
  const key = createSecretKey(secret);
  return async () => key;
}

/** Makes what reads a token's claims. @throws Unauthenticated, StoreError */
function createVerify({
  key,
  issuer,
  audience,
}: Auth): (token: string) => Promise<z.output<typeof Claims>> {
  const [findKey, algorithms] =
    key instanceof URL ? [createKeyFinder(key), ASYMMETRIC] : [createKeyHolder(key), SYMMETRIC];
  const options = {
    algorithms,
    issuer,
    audience,
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
  };
  return async (token) => {
    try {
      const { payload, protectedHeader } = await jwtVerify(token, findKey, options);
      TokenHeader.parse(protectedHeader);
      return Claims.parse(payload);
    } catch (error) {
      if (error instanceof errors.JWTExpired) throw new Unauthenticated('The token has expired.');
      if (error instanceof errors.JOSEError || error instanceof z.ZodError) {
        throw new Unauthenticated('The token is not valid here.');
      }
      // Its key is in the set, but no good: too short, or malformed.
      throw error instanceof StoreError ? error : unchecked(error);
    }
  };
}

/** Makes what finds out who calls; without `auth` everybody may do everything. */
export function createIdentify(auth: Auth | undefined): Identify {
  if (!auth) return async () => EVERYBODY;
  const open = auth.readIsOpen ? ['read'] : [];
  const nobody: Caller = { subject: undefined, scopes: new Set(open) };
  const verify = createVerify(auth);
  const trusted = new LRUCache<string, { caller: Caller; until: number }>({ max: MAX_TRUSTED });
  return async (headers) => {
    const token = tokenOf(headers);
    if (token === undefined) return nobody;
    const known = trusted.get(token);
    if (known && Date.now() < known.until) return known.caller;
    const claims = await verify(token);
    const caller = { subject: claims.sub, scopes: new Set([...open, ...scopesOf(claims)]) };
    trusted.set(token, { caller, until: Math.min(Date.now() + TRUST_MS, claims.exp * 1000) });
    return caller;
  };
}

/** Lets a caller with a scope pass. @throws Unauthenticated, Forbidden */
export function demand({ subject, scopes }: Caller, scope: Scope): void {
  if (scopes.has(scope)) return;
  throw subject === undefined ? new Unauthenticated() : new Forbidden(scope);
}
