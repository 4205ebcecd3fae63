import { Forbidden, Unauthenticated } from '../contract/errors.ts';

export const SCOPES = ['read', 'pets:write', 'inventory:write', 'orders:write', 'metrics'] as const;

/** A permission that a token can grant. */
export type Scope = (typeof SCOPES)[number];

/** Who sent a request, and what it may do. */
export interface Caller {
  /** The `sub` of its token; undefined without a token. */
  readonly subject: string | undefined;
  readonly scopes: ReadonlySet<string>;
}

/** Rejects a caller that does not have a scope. @throws Unauthenticated, Forbidden */
export function requireScope({ subject, scopes }: Caller, scope: Scope): void {
  if (scopes.has(scope)) return;
  throw subject === undefined ? new Unauthenticated() : new Forbidden(scope);
}
