import { createHmac, generateKeyPairSync } from 'node:crypto';

import { afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';

import {
  type Gateway,
  gateway as bySecret,
  openThatOf,
  startGateway,
  startOther,
  useGateway,
} from '../support/gateway.ts';
import { letASecondPass } from '../support/logged.ts';
import { post } from '../support/post.ts';
import { requestRaw, sendRaw } from '../support/raw.ts';
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

// Verifies tokens with a secret.
useGateway(AUTH_BY_SECRET);
/** Verifies tokens with public keys that a server publishes. */
let byKeys: Gateway;
let elliptic: SigningKey;
let rsa: SigningKey;
beforeAll(async () => {
  [elliptic, rsa] = await Promise.all([createKey('elliptic'), createKey('rsa', 'RS256')]);
  const keyServer = await startKeyServer(elliptic, rsa);
  byKeys = await startGateway(authByKeys(keyServer.url), openThatOf(bySecret));
  return async () => {
    for (const each of [byKeys, keyServer]) await each.close();
  };
});
afterEach(() => void vi.useRealTimers());

const DELETE = 'mutation { deletePet(id: "1") { ... on Error { code } } }';

/** Posts an operation, by default one that does not need the scope `read`. */
async function ask(gateway: Gateway, headers: Record<string, string>, query = DELETE) {
  const response = await post(gateway, { query }, { headers });
  const text = await response.text();
  return {
    status: response.status,
    challenge: response.headers.get('www-authenticate'),
    text,
    ...JSON.parse(text),
  };
}

/** Expects a token to be accepted: the only error is the missing scope. */
async function expectAccepted(gateway: Gateway, token: string, headers = bearing(token)) {
  const response = await ask(gateway, headers);
  expect(response).toMatchObject({ status: 200, data: { deletePet: { code: 'FORBIDDEN' } } });
}

// There is one message for expired tokens and one for all other rejected tokens, so no message can contain a token.
const messages = new Set<string>();

/** Expects a token to be rejected by GraphQL, REST and /metrics for the same reason, without being quoted. */
async function expectRejected(gateway: Gateway, token: string, reason = /valid/): Promise<void> {
  const first = await gateway.rest('/pets/1', { headers: bearing(token) });
  const { message } = (await first.json()) as { message: string };
  expect(message).toMatch(reason);
  expect(messages.add(message).size).toBeLessThanOrEqual(2);
  const challenge = `Bearer error="invalid_token", error_description="${message}"`;
  for (const query of [DELETE, '{ pets { totalCount } }', '{']) {
    const response = await ask(gateway, bearing(token), query);
    expect(response).toMatchObject({ status: 401, challenge });
    expect(JSON.parse(response.text)).toEqual({
      errors: [{ message, extensions: { code: 'UNAUTHENTICATED', status: 401 } }],
    });
  }
  for (const path of ['/pets/1', '/metrics']) {
    const response = await gateway.rest(path, { headers: bearing(token) });
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe(challenge);
    expect(await response.json()).toEqual({ code: 'UNAUTHENTICATED', message, status: 401 });
  }
}

/** Expects the reason for a token's rejection in the log, at level info, also for a route that is logged at debug. */
async function expectLogged(gateway: Gateway, token: string, reason: RegExp): Promise<void> {
  for (const path of ['/graphql?query={__typename}', '/pets/1', '/metrics']) {
    const { headers } = await fetch(gateway.url + path, { headers: bearing(token) });
    const requestId = headers.get('x-request-id');
    const isOfRequest = (line: unknown) => (line as { requestId?: string }).requestId === requestId;
    const line = { codes: ['UNAUTHENTICATED'], reason: expect.stringMatching(reason) };
    await expect.poll(() => gateway.loggedLines.find(isOfRequest)).toMatchObject(line);
  }
}

/** Signs the claims of a valid token, with the given header and secret. */
async function forge(header: object, secret = AUTH_BY_SECRET.AUTH_SECRET): Promise<string> {
  const [, claims] = (await mint()).split('.');
  const signed = `${Buffer.from(JSON.stringify(header)).toString('base64url')}.${claims}`;
  const hash = 'alg' in header && header.alg === 'HS512' ? 'sha512' : 'sha256';
  return `${signed}.${createHmac(hash, secret).update(signed).digest('base64url')}`;
}

const withClaims = (claims: object) => () => mint({ ...claims });
const withHeader = (header: object) => () => forge({ alg: 'HS256', ...header });

/** Returns a token with the claims of another. */
async function changeClaims(): Promise<string> {
  const [head, , signature] = (await mint()).split('.');
  const [, payload] = (await mint({ scope: 'pets:write' })).split('.');
  return `${head}.${payload}.${signature}`;
}

/** Moves the clock forward; timers still run in real time. */
function wait(seconds: number): void {
  const now = Date.now();
  vi.useFakeTimers({ toFake: ['Date'], now: now + seconds * 1000 });
}

describe('a token signed with the secret', () => {
  it.each([
    ["RFC 9068's typ, at+jwt", {}, { typ: 'at+jwt' }],
    ['several audiences', { aud: ['other', 'pet-store'] }, {}],
    ['an nbf four seconds ahead', { nbf: 4 }, {}],
    ['a subject of 255 characters', { sub: '🐾'.repeat(255) }, {}],
  ])('is accepted if it has %s', async (_what, claims, header) => {
    await expectAccepted(bySecret, await mint(claims, { header }));
  });

  it.each<[what: string, make: () => Promise<string>, reason: RegExp]>([
    ['another issuer', withClaims({ iss: 'https://other.example/' }), /^unexpected "iss" claim/],
    ['another audience', withClaims({ aud: 'other' }), /^unexpected "aud" claim value$/],
    ['no expiry', withClaims({ exp: undefined }), /^exp: .*expected number/],
    ['an nbf a minute ahead', withClaims({ nbf: 60 }), /^"nbf" claim timestamp check failed$/],
    ['no subject', withClaims({ sub: undefined }), /^sub: must be a string\.$/],
    ['a long subject', withClaims({ sub: 'x'.repeat(256) }), /^sub: must be 1 to 255 characters/],
    ['a scope that is no string', withClaims({ scope: 7 }), /^scope: must be a string or a list/],
    ['another typ', withHeader({ typ: 'logout+jwt' }), /^typ: must be JWT or at\+jwt\.$/],
    ['another hash algorithm', withHeader({ alg: 'HS512' }), /^"alg" .* not allowed$/],
    ['the algorithm none', withHeader({ alg: 'none' }), /^"alg" .* not allowed$/],
    ['an unknown extension', withHeader({ crit: ['x'], x: 1 }), /^ERR_JOSE_NOT_SUPPORTED$/],
    ['changed claims', changeClaims, /^signature verification failed$/],
  ])('is rejected if it has %s, and the log says so', async (_what, make, reason) => {
    await expectRejected(bySecret, await make());
    await expectLogged(bySecret, await make(), reason);
  });

  it('is rejected after it expires, although it was accepted before', async () => {
    const token = await mint({ exp: 2 });
    await expectAccepted(bySecret, token);
    wait(8);
    await expectRejected(bySecret, token, /expired/);
  });

  it('can have its scopes in a string or a list, in scope or scp', async () => {
    for (const scopes of ['pets:write read', ['pets:write', 'read']]) {
      for (const name of ['scope', 'scp']) {
        const headers = bearing(await mint({ [name]: scopes }));
        expect((await bySecret.rest('/pets/1', { headers })).status).toBe(404);
      }
    }
  });

  it('is rejected before the body of its request arrives', async () => {
    const head = `POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n`;
    const bytes = `${head}Authorization: Bearer x\r\n\r\n{`;
    expect((await sendRaw(bySecret, bytes, { wait: true })).status).toBe(401);
  });
});

describe('a token signed with a key', () => {
  it('is accepted if its issuer publishes the key', async () => {
    await expectAccepted(byKeys, await elliptic.mint());
    await expectAccepted(byKeys, await rsa.mint());
  });

  it.each<[what: string, make: () => Promise<string>]>([
    ['an unknown key of a known name', async () => (await createKey('elliptic')).mint()],
    ['an unknown key', async () => (await createKey('other')).mint()],
    ['a public key as a secret, in PEM', () => forge({ alg: 'HS256', kid: 'rsa' }, rsa.publicPem)],
    ['the same in JSON', () => forge({ alg: 'HS256', kid: 'rsa' }, JSON.stringify(rsa.publicJwk))],
    ['the algorithm none', () => forge({ alg: 'none', kid: 'rsa' })],
  ])('is rejected if it is signed with %s', async (_what, make) => {
    await expectRejected(byKeys, await make());
  });
});

describe('the keys of an issuer', () => {
  let ownServer: KeyServer;
  let ownGateway: Gateway;
  beforeEach(async () => {
    ownServer = await startKeyServer(elliptic);
    ownGateway = await startOther(authByKeys(ownServer.url));
  });
  afterEach(() => ownServer.close());

  it('are fetched once, with the first token, and not again for each unknown key', async () => {
    expect(ownServer.asked).toBe(0);
    const token = await elliptic.mint();
    await Promise.all([1, 2, 3].map(() => expectAccepted(ownGateway, token)));
    await expectAccepted(ownGateway, token);
    await expectRejected(ownGateway, await (await createKey('unknown')).mint());
    expect(ownServer.asked).toBe(1);
  });

  it('can change without a restart: new keys are added, and old keys removed', async () => {
    await expectAccepted(ownGateway, await elliptic.mint());
    const next = await createKey('next');
    ownServer.keys = [elliptic, next];
    wait(31);
    await expectAccepted(ownGateway, await next.mint());
    await expectAccepted(ownGateway, await elliptic.mint());
    expect(ownServer.asked).toBe(2);
    const lasting = await elliptic.mint({ exp: 3600 });
    await expectAccepted(ownGateway, lasting);
    ownServer.keys = [next];
    wait(601);
    await expectRejected(ownGateway, lasting);
    await expectAccepted(ownGateway, await next.mint());
  });

  it('remain valid for ten minutes while their server is down', async () => {
    await expectAccepted(ownGateway, await elliptic.mint());
    ownServer.keys = undefined;
    wait(590);
    await expectAccepted(ownGateway, await elliptic.mint());
    wait(20);
    await expectUnavailable(ownGateway, await elliptic.mint());
    ownServer.keys = [elliptic];
    wait(1);
    await expectAccepted(ownGateway, await elliptic.mint());
  });

  it('do not make a token invalid if they are malformed', async () => {
    ownServer.keys = [{ ...elliptic, publicJwk: Object('no key') }];
    await expectUnavailable(ownGateway, await elliptic.mint());
  });

  it('are fetched at most once a second while their server is down, whatever tokens arrive', async () => {
    ownServer.keys = undefined;
    const forged = await (await createKey('forged')).mint();
    for (let time = 1; time <= 3; time += 1) {
      wait(1);
      letASecondPass();
      await expectUnavailable(ownGateway, await elliptic.mint());
      const { status } = await ask(ownGateway, bearing(forged));
      expect(status).toBe(503);
      expect(ownServer.asked).toBe(time);
    }
  });
});

/** Starts a gateway whose issuer publishes these keys. It is closed after the test. */
async function startWith(...keys: SigningKey[]): Promise<Gateway> {
  const server = await startKeyServer(...keys);
  onTestFinished(() => server.close());
  return startOther(authByKeys(server.url));
}

const createKeys = (count: number): Promise<SigningKey[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => createKey(`key ${index}`)));

describe('a token that several keys of its issuer fit', () => {
  it('is accepted if one of them has signed it, whether its header names no key or two have its name', async () => {
    const keys = await Promise.all([createKey('same'), createKey('same')]);
    const gateway = await startWith(rsa, ...keys);
    for (const key of [...keys, rsa]) await expectAccepted(gateway, await key.mintUnnamed());
    for (const key of keys) await expectAccepted(gateway, await key.mint());
  });

  it('is accepted if one of them has signed it, although another is too short to be used', async () => {
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 });
    const publicJwk = { ...rsa.publicJwk, ...publicKey.export({ format: 'jwk' }) };
    await expectAccepted(await startWith({ ...rsa, publicJwk }, rsa), await rsa.mintUnnamed());
  });

  it('is rejected if another key has signed it, if it has expired or if a claim is wrong', async () => {
    const keys = await createKeys(2);
    const gateway = await startWith(...keys);
    const forged = await elliptic.mintUnnamed();
    await expectRejected(gateway, forged);
    await expectLogged(gateway, forged, /^signature verification failed$/);
    for (const key of keys) {
      await expectRejected(gateway, await key.mintUnnamed({ exp: -9 }), /expired/);
      const foreign = await key.mintUnnamed({ aud: 'other' });
      await expectRejected(gateway, foreign);
      await expectLogged(gateway, foreign, /^unexpected "aud" claim value$/);
    }
  });

  it('is tried with ten of them', async () => {
    const keys = await createKeys(11);
    const gateway = await startWith(...keys);
    await expectAccepted(gateway, (await keys[9]?.mintUnnamed()) ?? '');
    const last = (await keys[10]?.mintUnnamed()) ?? '';
    await expectRejected(gateway, last);
    await expectLogged(gateway, last, /^multiple matching keys found/);
  });
});

/** Expects status 503 for a token that cannot be verified, and one line in the log with the cause. */
async function expectUnavailable(gateway: Gateway, token: string): Promise<void> {
  const extensions = { code: 'SERVICE_UNAVAILABLE', status: 503 };
  const message = expect.stringContaining('oken');
  const { text, ...result } = await ask(gateway, bearing(token));
  expect(result).toMatchObject({ status: 503, challenge: null });
  expect(JSON.parse(text)).toEqual({ errors: [{ message, extensions }] });
  const response = await gateway.rest('/pets/1', { headers: bearing(token) });
  expect(await response.json()).toEqual({ ...extensions, message });
  const logged = gateway.loggedErrors.splice(0);
  expect(logged).toHaveLength(1);
  for (const entry of logged) {
    const { err } = entry as { err: Error };
    expect(`${err.message} ${String(err.cause)}`).toMatch(/Expected 200 OK|ECONNREFUSED|malformed/);
    expect(`${JSON.stringify(entry)} ${err.stack}`).not.toContain(token);
  }
}

describe('the Authorization header', () => {
  it('is accepted with its scheme in any case', async () => {
    const token = await mint();
    await expectAccepted(bySecret, token, { authorization: `BEARER   ${token}` });
  });

  it.each([
    ['an empty value', () => ''],
    ['another scheme before a token', (token: string) => `Basic Bearer ${token}`],
    ['two tokens', (token: string) => `Bearer ${token} ${token}`],
  ])('is rejected if it has %s', async (_what, toHeader) => {
    const Authorization = toHeader(await mint({ scope: 'read' }));
    const response = await requestRaw(bySecret, 'GET', '/pets/1', { Authorization });
    expect(response.status).toBe(401);
    expect(JSON.parse(response.body)).toMatchObject({ code: 'UNAUTHENTICATED', status: 401 });
  });

  it.each([
    ['not JSON', 'eA.eA.eA'],
    ['nested deeply', `${Buffer.from('['.repeat(9000)).toString('base64url')}.e30.x`],
  ])('is rejected if its token is %s', async (_what, token) => {
    await expectRejected(bySecret, token);
    await expectRejected(byKeys, token);
  });

  it('cannot be replaced by a token in the URL', async () => {
    const token = await mint({ scope: 'read' });
    expect((await bySecret.rest(`/pets/1?access_token=${token}`)).status).toBe(401);
  });
});
