import type { IncomingHttpHeaders } from 'node:http';

import type { ErrorCode, StoreError } from '../contract/errors.ts';

/** The methods that a route answers. */
export const ALLOWED_METHODS = 'GET, HEAD';

/** What a route is asked. */
export interface RouteRequest {
  /** The named parts of the path, decoded. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
}

/** Headers, and each link (RFC 8288) that goes into the header Link. */
export interface ResponseHead {
  readonly headers?: Readonly<Record<string, string>>;
  readonly links?: readonly string[];
}

/** What a route answers, whole or as it comes: JSON unless its headers say otherwise. */
export interface RouteResponse extends ResponseHead {
  readonly status: number;
  readonly body: string | Buffer | AsyncIterable<string>;
  /** Of the error that it is, for the log. */
  readonly code?: ErrorCode;
}

/** A path that answers GET and HEAD. */
export interface Route {
  /** The path, its parameters in braces: /pets/{petId}. */
  readonly path: string;
  /** What every answer has, errors too. */
  readonly head?: ResponseHead;
  /** Whether asking it is no use of the store, which the log has at level debug alone. */
  readonly isAuxiliary?: boolean;
  /** @throws StoreError */
  readonly get: (question: RouteRequest) => Promise<RouteResponse>;
}

/** An answer with a head added to its own. */
export const withHead = (
  answer: RouteResponse,
  { headers, links = [] }: ResponseHead = {},
): RouteResponse => ({
  ...answer,
  headers: { ...headers, ...answer.headers },
  links: [...(answer.links ?? []), ...links],
});

/** A value as JSON. */
export const jsonResponse = (value: unknown): RouteResponse => ({
  status: 200,
  body: JSON.stringify(value),
});

/** An error as the error object. */
export const errorResponse = (error: StoreError): RouteResponse => ({
  status: error.status,
  headers: error.headers,
  body: JSON.stringify(error),
  code: error.code,
});
