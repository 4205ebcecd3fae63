import type { IncomingHttpHeaders } from 'node:http';

import type { StoreError } from '../errors.ts';

/** What a route is asked. */
export interface Question {
  /** The named parts of the path, decoded. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
}

/** What a route answers: JSON, whole or as it comes. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | AsyncIterable<string>;
}

/** A path that answers GET and HEAD. */
export interface Route {
  readonly path: RegExp;
  /** Headers of every answer, errors too. */
  readonly headers?: Readonly<Record<string, string>>;
  /** @throws StoreError */
  readonly get: (question: Question) => Promise<Answer>;
}

export const errorAnswer = (error: StoreError): Answer => ({
  status: error.status,
  body: JSON.stringify(error),
});
