import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isIPv6, type Socket } from 'node:net';

import { LRUCache } from 'lru-cache';

import type { Auth } from '../config/config.ts';
import { Forbidden, Unauthenticated } from '../contract/gateway-error.ts';
import type { RequestLog } from '../telemetry/request-log.ts';
import { CLOCK_TOLERANCE_MS, createVerify } from './tokens.ts';

export interface Caller {
  /** The `sub` of the verified token; undefined without a token. */
  readonly subject: string | undefined;
  /** The first 16 hexadecimal digits of the subject's SHA-256 digest, for the log. */
  readonly subjectDigest?: string;
  /** The scopes of the token and those that need no token (AUTH_READ); `all` with AUTH=none. */
  readonly scopes: ReadonlySet<string> | 'all';
  /** When the token stops being accepted, in milliseconds since 1970; undefined without a token. */
  readonly expiresAt?: number;
}

/** Finds a request's caller; a Promise only if a token has to be verified. @throws Unauthenticated, GatewayError */
export type Authenticate = (request: {
  readonly headers: IncomingHttpHeaders;
  readonly requestLog: RequestLog;
}) => Caller | Promise<Caller>;

const UNRESTRICTED: Caller = { subject: undefined, scopes: 'all' };

// Matches the scheme, ignoring case, and one token (RFC 6750 §2.1).
const BEARER = /^Bearer +([\w.~+/-]+=*)$/i;

// Verifying a token takes as long as a small operation, and most tokens are sent again soon.
const CACHE_MS = 10_000;
const MAX_CACHED = 1000;

function tokenOf({ authorization }: IncomingHttpHeaders): string | undefined {
  if (authorization === undefined) return undefined;
  const token = BEARER.exec(authorization)?.[1];
  if (!token)
    throw new Unauthenticated('The Authorization header must have the form Bearer <token>.');
  return token;
}

/** Creates the function that authenticates callers. Without `auth`, every caller has all scopes. */
export function createAuthenticate(auth: Auth | undefined): Authenticate {
  if (!auth) return () => UNRESTRICTED;
  const publicScopes = auth.readIsOpen ? ['read'] : [];
  const anonymous: Caller = { subject: undefined, scopes: new Set(publicScopes) };
  const verify = createVerify(auth);
  const cache = new LRUCache<string, { caller: Caller; until: number }>({ max: MAX_CACHED });
  const verifyNew = async (token: string): Promise<Caller> => {
    const { subject, scopes, expiresAt } = await verify(token);
    const caller = {
      subject,
      subjectDigest: createHash('sha256').update(subject).digest('hex').slice(0, 16),
      scopes: new Set([...publicScopes, ...scopes]),
      expiresAt: expiresAt + CLOCK_TOLERANCE_MS,
    };
    cache.set(token, { caller, until: Math.min(Date.now() + CACHE_MS, expiresAt) });
    return caller;
  };
  return ({ headers, requestLog }) => {
    const token = tokenOf(headers);
    if (token === undefined) {
      requestLog.isAnonymous = true;
      return anonymous;
    }
    const logSubject = (caller: Caller): Caller => {
      requestLog.subject = caller.subjectDigest;
      return caller;
    };
    const cached = cache.get(token);
    if (cached && Date.now() < cached.until) return logSubject(cached.caller);
    return verifyNew(token).then(logSubject);
  };
}

/** Returns an address, of IPv6 only the first 64 bits: one client can use all addresses that share them. */
function networkOf(address = ''): string {
  if (!isIPv6(address) || address.includes('.')) return address;
  const [head = [], tail = []] = address.split('::').map((groups) => groups.split(':'));
  const zeros = Array<string>(Math.max(0, 8 - head.length - tail.length)).fill('0');
  return [...head, ...zeros, ...tail].slice(0, 4).join(':');
}

/** Returns a key for a caller: the subject of its token or, without a token, its network. */
export const callerKeyOf = (
  { subject }: Pick<Caller, 'subject'>,
  { socket }: { readonly socket: Pick<Socket, 'remoteAddress'> },
): string =>
  subject === undefined ? `address ${networkOf(socket.remoteAddress)}` : `subject ${subject}`;

export const hasScope = ({ scopes }: Caller, scope: string): boolean =>
  scopes === 'all' || scopes.has(scope);

/** Checks that a caller has any scope. @throws Unauthenticated, with which clients begin to ask their user for a token */
export function requireAnyScope({ subject, scopes }: Caller): void {
  if (subject === undefined && scopes !== 'all' && scopes.size === 0) throw new Unauthenticated();
}

/** Checks that a caller has a scope. @throws Unauthenticated, Forbidden */
export function requireScope(caller: Caller, scope: string): void {
  if (hasScope(caller, scope)) return;
  throw caller.subject === undefined ? new Unauthenticated() : new Forbidden(scope);
}
