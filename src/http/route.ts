import type { IncomingHttpHeaders } from 'node:http';

import type { ErrorCode, StoreError } from '../contract/errors.ts';

/** The methods that a route answers. */
export const ALLOWED = 'GET, HEAD';

/** What a route is asked. */
export interface Question {
  /** The named parts of the path, decoded. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
}

/** Headers, and each link (RFC 8288) that goes into the header Link. */
export interface Head {
  readonly headers?: Readonly<Record<string, string>>;
  readonly links?: readonly string[];
}

/** What a route answers, whole or as it comes: JSON unless its headers say otherwise. */
export interface Answer extends Head {
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
  readonly head?: Head;
  /** Whether asking it is no use of the store, which the log has at level debug alone. */
  readonly isAside?: boolean;
  /** @throws StoreError */
  readonly get: (question: Question) => Promise<Answer>;
}

/** An answer with a head added to its own. */
export const withHead = (answer: Answer, { headers, links = [] }: Head = {}): Answer => ({
  ...answer,
  headers: { ...headers, ...answer.headers },
  links: [...(answer.links ?? []), ...links],
});

/** A value as JSON. */
export const jsonAnswer = (value: unknown): Answer => ({
  status: 200,
  body: JSON.stringify(value),
});

/** An error as the error object. */
export const errorAnswer = (error: StoreError): Answer => ({
  status: error.status,
  headers: error.headers,
  body: JSON.stringify(error),
  code: error.code,
});
