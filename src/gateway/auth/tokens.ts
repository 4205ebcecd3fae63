import {
  createRemoteJWKSet,
  customFetch,
  errors,
  type FetchImplementation,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  jwtVerify,
} from 'jose';
import { z } from 'zod';

import type { Auth } from '../config/config.ts';
import { GatewayError, Unauthenticated, Unavailable } from '../contract/gateway-error.ts';
import { Text255 } from '../contract/parse.ts';

// A secret must not be used as a public key, nor a public key as a secret (RFC 8725 §3.1).
const SYMMETRIC = ['HS256'];
const ASYMMETRIC = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');

/** How long a token is still accepted after it has expired. */
export const CLOCK_TOLERANCE_MS = 5000;
const KEYS_TIMEOUT_MS = 5000;
// How long a removed key may still be trusted, and how long after a fetch an unknown key does not cause another fetch.
const KEYS_AGE_MS = 600_000;
const KEYS_COOLDOWN_MS = 30_000;
const KEYS_RETRY_MS = 1000;
// How many keys are tried for a token whose header names none of them. Each can take a millisecond.
const MAX_TRIED_KEYS = 10;

// Rejects tokens whose type shows that they were issued for another purpose (RFC 8725 §3.11).
const TokenHeader = z.object({
  typ: z
    .string()
    .regex(/^(application\/)?(at\+)?jwt$/i, 'must be JWT or at+jwt.')
    .optional(),
});

// RFC 8693 §4.2 requires a string; some issuers send a list.
const Scopes = z.union([z.string(), z.array(z.string())], 'must be a string or a list of strings.');

const Claims = z
  .object({
    sub: Text255,
    exp: z.number(),
    scope: Scopes.default(''),
    scp: Scopes.default(''),
  })
  .transform(({ sub, exp, scope, scp }) => ({
    subject: sub,
    scopes: [scope, scp].flat().flatMap((list) => list.split(' ')),
    expiresAt: exp * 1000,
  }));

const NOT_VERIFIABLE = 'Tokens cannot be verified at the moment.';

const notVerifiable = (cause: unknown): GatewayError =>
  new GatewayError('SERVICE_UNAVAILABLE', NOT_VERIFIABLE, cause);

/** Creates a fetch that fails within a second of the last one: otherwise, each request would try while keys can't be fetched. */
function createKeysFetch(): FetchImplementation {
  let lastAt = -Infinity;
  return async (url, options) => {
    const now = Date.now();
    // The absolute value is used because the system clock can be set back.
    if (Math.abs(now - lastAt) < KEYS_RETRY_MS) throw new Unavailable(NOT_VERIFIABLE);
    lastAt = now;
    return fetch(url, options);
  };
}

const createKeyFinder = (url: URL): JWTVerifyGetKey =>
  createRemoteJWKSet(url, {
    timeoutDuration: KEYS_TIMEOUT_MS,
    cacheMaxAge: KEYS_AGE_MS,
    cooldownDuration: KEYS_COOLDOWN_MS,
    [customFetch]: createKeysFetch(),
  });

// The key set can't be fetched or read, which is not the token's fault.
const OF_KEYS = ['ERR_JOSE_GENERIC', 'ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID'];
const isOfToken = (error: unknown): error is Error =>
  error instanceof z.ZodError ||
  (error instanceof errors.JOSEError && !OF_KEYS.includes(error.code));

/** Verifies a token that several keys fit. @throws JOSEError, or the error of an unusable key if no other has signed it */
async function verifyWithEach(
  token: string,
  keys: errors.JWKSMultipleMatchingKeys,
  options: JWTVerifyOptions,
) {
  let failure: unknown = new errors.JWSSignatureVerificationFailed();
  let tried = 0;
  for await (const key of keys) {
    tried += 1;
    if (tried > MAX_TRIED_KEYS) throw keys;
    try {
      return await jwtVerify(token, key, options);
    } catch (error) {
      if (error instanceof errors.JWSSignatureVerificationFailed) continue;
      if (error instanceof errors.JOSEError) throw error;
      failure = error;
    }
  }
  throw failure;
}

function reasonOf(error: Error): string {
  // The message quotes the token.
  if (error instanceof errors.JOSENotSupported) return error.code;
  if (!(error instanceof z.ZodError)) return error.message;
  return error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join(' ');
}

/** Creates a function that verifies a token and returns its claims. @throws Unauthenticated, GatewayError */
export function createVerify({
  key,
  issuer,
  audience,
}: Auth): (token: string) => Promise<z.output<typeof Claims>> {
  const [findKey, algorithms] =
    key instanceof URL ? [createKeyFinder(key), ASYMMETRIC] : [async () => key, SYMMETRIC];
  const options = {
    algorithms,
    issuer,
    audience,
    clockTolerance: CLOCK_TOLERANCE_MS / 1000,
  };
  return async (token) => {
    try {
      const { payload, protectedHeader } = await jwtVerify(token, findKey, options).catch(
        (error: unknown) => {
          if (error instanceof errors.JWKSMultipleMatchingKeys)
            return verifyWithEach(token, error, options);
          throw error;
        },
      );
      TokenHeader.parse(protectedHeader);
      return Claims.parse(payload);
    } catch (error) {
      if (error instanceof errors.JWTExpired) throw new Unauthenticated('The token has expired.');
      if (isOfToken(error)) throw new Unauthenticated('The token is not valid.', reasonOf(error));
      // Any other error is about the key set: it can't be fetched, or contains an unusable key.
      throw error instanceof GatewayError ? error : notVerifiable(error);
    }
  };
}
