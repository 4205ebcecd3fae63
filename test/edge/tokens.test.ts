import { createHmac, generateKeyPairSync, sign } from 'node:crypto';

import type { JWK } from 'jose';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';

import { fetchByYoga, type Send } from '../support/by-yoga.ts';
import { type Gateway, openThatOf, startGateway } from '../support/gateway.ts';
import { post } from '../support/post.ts';
import { requestRaw } from '../support/raw.ts';
import {
  AUTH_BY_SECRET,
  authByKeys,
  bearing,
  createKey,
  type KeyServer,
  mint,
  type SigningKey,
  startKeyServer,
} from '../support/tokens.ts';

/** Trusts what is signed with a secret. */
let bySecret: Gateway;
/** Trusts the keys of a server. */
let byKeys: Gateway;
let keyServer: KeyServer;
let elliptic: SigningKey;
let rsa: SigningKey;
beforeAll(async () => {
  [elliptic, rsa] = await Promise.all([createKey('elliptic'), createKey('rsa', 'RS256')]);
  keyServer = await startKeyServer(elliptic, rsa);
  bySecret = await startGateway(AUTH_BY_SECRET);
  byKeys = await startGateway(authByKeys(keyServer.url), openThatOf(bySecret));
});
afterEach(() => void vi.useRealTimers());
afterAll(async () => {
  for (const each of [byKeys, bySecret, keyServer]) await each.close();
});

const DELETE = 'mutation { deletePet(id: "1") { ... on Error { code } } }';

/** Posts an operation that needs no scope of reading, or another one. */
async function ask(
  gateway: Gateway,
  headers: Record<string, string>,
  { query = DELETE, send = fetch }: { query?: string; send?: Send } = {},
) {
  const response = await post(gateway, { query }, { headers, send });
  const text = await response.text();
  return {
    status: response.status,
    challenge: response.headers.get('www-authenticate'),
    text,
    ...JSON.parse(text),
  };
}

/** Whether a token says who calls: then its scope is missed, which it is not asked to have. */
async function expectTaken(gateway: Gateway, token: string): Promise<void> {
  const answer = await ask(gateway, bearing(token));
  expect(answer).toMatchObject({ status: 200, data: { deletePet: { code: 'FORBIDDEN' } } });
}

const NOT_VALID = 'The token is not valid here.';

/** Checks that a token is refused everywhere, whatever is asked, in words that tell nothing of it. */
async function expectRefused(gateway: Gateway, token: string, message = NOT_VALID): Promise<void> {
  const challenge = `Bearer error="invalid_token", error_description="${message}"`;
  for (const send of [fetch, fetchByYoga]) {
    for (const query of [DELETE, '{ pets { totalCount } }', '{ __typename }', '{']) {
      const answer = await ask(gateway, bearing(token), { query, send });
      expect(answer).toMatchObject({ status: 401, challenge });
      expect(JSON.parse(answer.text)).toEqual({
        errors: [{ message, extensions: { code: 'UNAUTHENTICATED', status: 401 } }],
      });
    }
  }
  for (const path of ['/pets/1', '/store/orders', '/metrics']) {
    const response = await gateway.rest(path, { headers: bearing(token) });
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe(challenge);
    expect(await response.json()).toEqual({ code: 'UNAUTHENTICATED', message, status: 401 });
  }
}

/** Signs the claims of a good token with any header and secret, in the way of its hash. */
async function forge(header: object, secret = AUTH_BY_SECRET.AUTH_SECRET): Promise<string> {
  const [, claims] = (await mint()).split('.');
  const signed = `${Buffer.from(JSON.stringify(header)).toString('base64url')}.${claims}`;
  const hash = 'alg' in header && header.alg === 'HS512' ? 'sha512' : 'sha256';
  return `${signed}.${createHmac(hash, secret).update(signed).digest('base64url')}`;
}

/** Lets time pass for dates alone. */
function wait(seconds: number): void {
  const now = Date.now();
  vi.useFakeTimers({ toFake: ['Date'], now: now + seconds * 1000 });
}

describe('a token signed with the secret', () => {
  it.each([
    ['a minute', {}, {}],
    ['the type JWT', {}, { typ: 'JWT' }],
    ['the type of RFC 9068', {}, { typ: 'at+jwt' }],
    ['the same in full', {}, { typ: 'application/at+JWT' }],
    ['several audiences', { aud: ['other', 'pet-store'] }, {}],
    ['a start in the past', { nbf: -1 }, {}],
    ['a clock that is a little fast', { nbf: 4 }, {}],
    ['a clock that is a little slow', { exp: -3 }, {}],
    ['scopes that nobody knows', { scope: 'a b', scp: ['c'] }, {}],
    ['a long subject', { sub: '🐾'.repeat(255) }, {}],
  ])('is taken with %s', async (_what, claims, header) => {
    await expectTaken(bySecret, await mint(claims, { header }));
  });

  it.each([
    ['another issuer', { iss: 'https://other.example/' }],
    ['no issuer', { iss: undefined }],
    ['another audience', { aud: 'other' }],
    ['no audience', { aud: undefined }],
    ['no end', { exp: undefined }],
    ['an end that is no number', { exp: '2099-01-01' }],
    ['a start in the future', { nbf: 60 }],
    ['no subject', { sub: undefined }],
    ['an empty subject', { sub: '' }],
    ['a subject that is too long', { sub: 'x'.repeat(256) }],
    ['a subject that no database stores', { sub: 'a\0b' }],
    ['scopes that are none', { scope: 7 }],
    ['scopes that are none, in scp', { scp: [7] }],
  ])('is refused with %s', async (_what, claims) => {
    await expectRefused(bySecret, await mint(claims));
  });

  it('is refused once it has expired', async () => {
    const token = await mint({ exp: -6 });
    await expectRefused(bySecret, token, 'The token has expired.');
  });

  it('is refused once it has expired, also where it was taken just before', async () => {
    const token = await mint({ exp: 2 });
    await expectTaken(bySecret, token);
    wait(8);
    await expectRefused(bySecret, token, 'The token has expired.');
  });

  it.each([
    ['of another type', { alg: 'HS256', typ: 'logout+jwt' }],
    ['with a type that is none', { alg: 'HS256', typ: 7 }],
    ['with another hash', { alg: 'HS512' }],
    ['with the algorithm of a key', { alg: 'RS256' }],
    ['with the algorithm none', { alg: 'none' }],
    ['without an algorithm', {}],
    ['with an extension that nobody knows', { alg: 'HS256', crit: ['x'], x: 1 }],
    ['with its own key', { alg: 'HS256', jwk: { kty: 'oct', k: 'AAAA' } }, 'AAAA'],
  ])('is refused %s', async (_what, header, secret?: string) => {
    await expectRefused(bySecret, await forge(header, secret));
  });

  it('is refused if it was not signed', async () => {
    const [head, payload] = (await mint()).split('.');
    await expectRefused(bySecret, `${head}.${payload}.`);
    await expectRefused(bySecret, `${head}.${payload}`);
  });

  it('is refused if a part of it was changed', async () => {
    const [head, , signature] = (await mint()).split('.');
    const [, payload] = (await mint({ scope: 'pets:write' })).split('.');
    await expectRefused(bySecret, `${head}.${payload}.${signature}`);
  });

  it('is refused if it is signed with a key instead', async () => {
    await expectRefused(bySecret, await elliptic.mint());
  });
});

describe('a token signed with a key', () => {
  it('is taken, whichever of the keys it is', async () => {
    await expectTaken(byKeys, await elliptic.mint());
    await expectTaken(byKeys, await rsa.mint());
  });

  it('is refused if it is signed with a key of somebody else', async () => {
    await expectRefused(byKeys, await (await createKey('elliptic')).mint());
    await expectRefused(byKeys, await (await createKey('other')).mint());
  });

  it.each([
    ['itself', () => rsa.publicPem],
    ['as JSON', () => JSON.stringify(rsa.publicJwk)],
    ['as its number', () => rsa.publicJwk.n ?? ''],
  ])('is refused if the secret was the public key %s', async (_what, secretOf) => {
    await expectRefused(byKeys, await forge({ alg: 'HS256', kid: 'rsa' }, secretOf()));
  });

  it.each(['none', 'HS256', 'RS256', 'ES256', 'EdDSA', 'dir', 'x', 7])(
    'is refused if it claims the algorithm %j',
    async (alg) => {
      await expectRefused(byKeys, await forge({ alg, kid: 'rsa' }));
      await expectRefused(byKeys, await forge({ alg }));
    },
  );
});

describe('the keys of an issuer', () => {
  let ownServer: KeyServer;
  let ownGateway: Gateway;
  beforeEach(async () => {
    ownServer = await startKeyServer(elliptic);
    ownGateway = await startGateway(authByKeys(ownServer.url), openThatOf(bySecret));
  });
  afterEach(async () => {
    await ownGateway.close();
    await ownServer.close();
  });

  it('are fetched once, when they are first needed', async () => {
    expect(ownServer.asked).toBe(0);
    const token = await elliptic.mint();
    await Promise.all([1, 2, 3].map(() => expectTaken(ownGateway, token)));
    await expectTaken(ownGateway, token);
    expect(ownServer.asked).toBe(1);
  });

  it('are not fetched again for each key that nobody knows', async () => {
    await expectTaken(ownGateway, await elliptic.mint());
    await expectRefused(ownGateway, await (await createKey('unknown')).mint());
    expect(ownServer.asked).toBe(1);
  });

  it('change without a restart: a new one is taken, one that is gone no more', async () => {
    await expectTaken(ownGateway, await elliptic.mint());
    const next = await createKey('next');
    ownServer.keys = [elliptic, next];
    wait(31);
    await expectTaken(ownGateway, await next.mint());
    await expectTaken(ownGateway, await elliptic.mint());
    expect(ownServer.asked).toBe(2);
    const lasting = await elliptic.mint({ exp: 3600 });
    await expectTaken(ownGateway, lasting);
    ownServer.keys = [next];
    wait(601);
    await expectRefused(ownGateway, lasting);
    await expectTaken(ownGateway, await next.mint());
    ownServer.keys = [elliptic];
    wait(31);
    await expectTaken(ownGateway, await elliptic.mint());
  });

  it('are trusted for ten minutes while their server is down, and then nobody is', async () => {
    await expectTaken(ownGateway, await elliptic.mint());
    ownServer.keys = undefined;
    wait(590);
    await expectTaken(ownGateway, await elliptic.mint());
    wait(20);
    const { asked } = ownServer;
    await expectUnavailable(ownGateway, await elliptic.mint());
    expect(ownServer.asked).toBe(asked + 1);
    wait(1);
    ownServer.keys = [elliptic];
    await expectTaken(ownGateway, await elliptic.mint());
  });
});

/** Checks that a good token that can't be checked opens nothing, and that the log has the cause. */
async function expectUnavailable(gateway: Gateway, token: string): Promise<void> {
  const refusal = { code: 'SERVICE_UNAVAILABLE', message: 'Tokens can not be checked now.' };
  const { message, ...extensions } = { ...refusal, status: 503 };
  for (const send of [fetch, fetchByYoga]) {
    const answer = await ask(gateway, bearing(token), { send });
    expect(answer).toMatchObject({ status: 503, challenge: null });
    expect(JSON.parse(answer.text)).toEqual({ errors: [{ message, extensions }] });
  }
  const response = await gateway.rest('/pets/1', { headers: bearing(token) });
  expect(await response.json()).toEqual({ ...refusal, status: 503 });
  const logged = gateway.loggedErrors.splice(0);
  expect(logged).toHaveLength(3);
  for (const entry of logged) {
    const { err } = entry as { err: Error };
    expect(`${err.message} ${String(err.cause)}`).toMatch(
      /Expected 200 OK|ECONNREFUSED|a moment ago/,
    );
    expect(`${JSON.stringify(entry)} ${err.stack}`).not.toContain(token);
  }
}

describe('a key that is too short', () => {
  it('opens nothing, and is no bug', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 1024 });
    const publicJwk = { ...publicKey.export({ format: 'jwk' }), kid: 'short' } as JWK;
    const server = await startKeyServer({ ...elliptic, publicJwk });
    const gateway = await startGateway(authByKeys(server.url), openThatOf(bySecret));
    const [, claims] = (await mint({ scope: 'read' })).split('.');
    const head = Buffer.from('{"alg":"RS256","kid":"short"}').toString('base64url');
    const signature = sign('sha256', Buffer.from(`${head}.${claims}`), privateKey);
    const token = `${head}.${claims}.${signature.toString('base64url')}`;
    expect((await gateway.rest('/pets/1', { headers: bearing(token) })).status).toBe(503);
    expect(gateway.loggedErrors.splice(0)).toMatchObject([{ err: expect.any(TypeError) }]);
    await gateway.close();
    await server.close();
  });
});

describe('a server of keys that was never there', () => {
  it('opens nothing, and everything once it is up', async () => {
    const server = await startKeyServer(elliptic);
    await server.close();
    const gateway = await startGateway(authByKeys(server.url), openThatOf(bySecret));
    await expectUnavailable(gateway, await elliptic.mint());
    expect((await gateway.rest('/health')).status).toBe(200);
    await gateway.close();
  });
});

describe('the header Authorization', () => {
  it.each(['bearer', 'BEARER', 'Bearer'])('is taken with the scheme %s', async (scheme) => {
    const answer = await ask(bySecret, { authorization: `${scheme}   ${await mint()}` });
    expect(answer).toMatchObject({ data: { deletePet: { code: 'FORBIDDEN' } } });
  });

  const MALFORMED = 'The header Authorization has to be Bearer and a token.';

  it.each([
    ['nothing', () => ''],
    ['no token', () => 'Bearer'],
    ['a token alone', (token: string) => token],
    ['another scheme', (token: string) => `Basic ${token}`],
    ['two schemes', (token: string) => `Bearer ${token}, Basic YTpi`],
    ['two tokens', (token: string) => `Bearer ${token} ${token}`],
    ['quotes', (token: string) => `Bearer "${token}"`],
    ['a parameter', (token: string) => `Bearer token=${token}`],
    ['other white space', (token: string) => `Bearer\t${token}`],
    ['a letter of another alphabet', (token: string) => `Bearer ${token}é`],
    ['signs of another alphabet', (token: string) => `Bearer ${token}%00`],
  ])('is refused with %s', async (_what, toHeader) => {
    const answer = await requestRaw(bySecret, 'GET', '/pets/1', {
      Authorization: toHeader(await mint({ scope: 'read' })),
    });
    expect(answer.status).toBe(401);
    expect(JSON.parse(answer.body)).toEqual({
      code: 'UNAUTHENTICATED',
      message: MALFORMED,
      status: 401,
    });
  });

  it.each([
    ['garbage', 'x'],
    ['dots', '...'],
    ['two dots', '..'],
    ['the token of an encryption', 'a.b.c.d.e'],
    ['no JSON', 'eA.eA.eA'],
    ['null', 'bnVsbA.bnVsbA.bnVsbA'],
    ['as much as a header holds', 'x'.repeat(12_000)],
    ['as much as a header holds, in parts', `${'x.'.repeat(6000)}x`],
    ['as deep as a header holds', `${Buffer.from('['.repeat(9000)).toString('base64url')}.e30.x`],
  ])('is refused with a token that is %s', async (_what, token) => {
    await expectRefused(bySecret, token);
    await expectRefused(byKeys, token);
  });

  it('is refused before it is read where it is larger than a head may be', async () => {
    const { status } = await requestRaw(bySecret, 'GET', '/pets/1', bearing('x'.repeat(20_000)));
    expect(status).toBe(431);
  });

  it('is the only place for a token', async () => {
    const token = await mint({ scope: 'read' });
    expect((await bySecret.rest(`/pets/1?access_token=${token}`)).status).toBe(401);
  });
});
