import type { IncomingMessage } from 'node:http';

import { Forbidden, Unauthenticated } from '../contract/gateway-error.ts';

/** The sender of a request. */
export interface Caller {
  /** The `sub` of its token; undefined without a token. */
  readonly subject: string | undefined;
  /** What its token grants; without tokens, everything is granted. */
  readonly scopes: ReadonlySet<string> | 'all';
  /** Whether it has sent no token although tokens are used. */
  readonly isAnonymous?: boolean;
  /** When its token is no longer accepted, in milliseconds since 1970; undefined without a token. */
  readonly expiresAt?: number;
}

/** Identifies a caller among others: by the subject of its token, or by its address without a token. */
export const callerKeyOf = ({ subject }: Caller, { socket }: IncomingMessage): string =>
  subject === undefined ? `address ${socket.remoteAddress}` : `subject ${subject}`;

/** Requires that a caller has a scope. @throws Unauthenticated, Forbidden */
export function requireScope({ subject, scopes }: Caller, scope: string): void {
  if (scopes === 'all' || scopes.has(scope)) return;
  throw subject === undefined ? new Unauthenticated() : new Forbidden(scope);
}
