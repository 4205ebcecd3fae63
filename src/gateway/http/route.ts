import type { IncomingHttpHeaders } from 'node:http';

export interface RouteRequest {
  /** The path parameters, decoded. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
}

/** The response of a route. It is JSON unless the headers set another Content-Type. */
export interface RouteResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An AsyncIterable is streamed. */
  readonly body: string | Buffer | AsyncIterable<string>;
}

/** A path with the handler for its GET and HEAD requests. */
export interface Route {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly get: (request: RouteRequest) => Promise<RouteResponse>;
}
