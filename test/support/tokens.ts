import { createServer } from 'node:http';

import {
  type CryptoKey,
  exportJWK,
  exportSPKI,
  generateKeyPair,
  type JWK,
  type JWTHeaderParameters,
  type JWTPayload,
  SignJWT,
} from 'jose';

import { closeServer, listen } from './listen.ts';

const SECRET = 'the-secret-of-the-tests-0123456789';
const ISSUER = 'https://login.example/';
const AUDIENCE = 'pet-store';

const AUTH = { AUTH: 'jwt', AUTH_ISSUER: ISSUER, AUTH_AUDIENCE: AUDIENCE };

/** The environment of a gateway that verifies tokens with the secret of the tests. */
export const AUTH_BY_SECRET = { ...AUTH, AUTH_SECRET: SECRET };

/** The environment of a gateway that verifies tokens with the public keys at a URL. */
export const authByKeys = (url: string): Record<string, string> => ({
  ...AUTH,
  AUTH_JWKS_URL: url,
});

interface Signing {
  header?: Partial<JWTHeaderParameters>;
  key?: CryptoKey | Uint8Array;
}

/** The claims of a token; `exp` and `nbf` in seconds from now. */
type Claims = Readonly<Record<string, unknown>>;

const fromNow = (claim: unknown): unknown =>
  typeof claim === 'number' ? Math.floor(Date.now() / 1000) + claim : claim;

/** Creates a token that is valid for a minute; the given claims replace the usual ones. */
export function mint(given: Claims = {}, { header, key }: Signing = {}): Promise<string> {
  const claims: Claims = { sub: 'ann', iss: ISSUER, aud: AUDIENCE, exp: 60, ...given };
  const { exp, nbf } = claims;
  return new SignJWT({ ...claims, exp: fromNow(exp), nbf: fromNow(nbf) } as JWTPayload)
    .setProtectedHeader({ alg: 'HS256', ...header })
    .sign(key ?? new TextEncoder().encode(SECRET));
}

export const bearing = (token: string): Record<string, string> => ({
  authorization: `Bearer ${token}`,
});

/** The header of a caller with these scopes. */
export const withScopes = async (...scopes: string[]): Promise<Record<string, string>> =>
  bearing(await mint({ scope: scopes.join(' ') }));

export interface SigningKey {
  readonly kid: string;
  readonly publicJwk: JWK;
  /** The public key as a PEM file. */
  readonly publicPem: string;
  /** Creates a token signed with this key. */
  readonly mint: (claims?: Claims) => Promise<string>;
  /** Creates a token signed with this key whose header does not name it. */
  readonly mintUnnamed: (claims?: Claims) => Promise<string>;
}

export async function createKey(kid: string, alg = 'ES256'): Promise<SigningKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  return {
    kid,
    publicJwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' },
    publicPem: await exportSPKI(publicKey),
    mint: (claims) => mint(claims, { header: { alg, kid }, key: privateKey }),
    mintUnnamed: (claims) => mint(claims, { header: { alg }, key: privateKey }),
  };
}

export interface KeyServer {
  readonly url: string;
  asked: number;
  /** The keys in the next responses; undefined means that the server fails. */
  keys: readonly SigningKey[] | undefined;
  close(): Promise<void>;
}

export async function startKeyServer(...keys: SigningKey[]): Promise<KeyServer> {
  const server = createServer((_request, response) => {
    keyServer.asked += 1;
    response.statusCode = keyServer.keys ? 200 : 500;
    response.end(JSON.stringify({ keys: keyServer.keys?.map(({ publicJwk }) => publicJwk) }));
  });
  const keyServer: KeyServer = {
    url: `${await listen(server)}/keys`,
    asked: 0,
    keys,
    close: () => closeServer(server),
  };
  return keyServer;
}
