import type { IncomingHttpHeaders } from 'node:http';

import type { GatewayError } from '../contract/gateway-error.ts';

type Headers = Readonly<Record<string, string>>;

export interface RouteRequest {
  /** The path parameters, decoded. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
}

/** The response of a route. It is JSON unless the headers set another Content-Type. */
export interface RouteResponse {
  readonly status: number;
  readonly headers?: Headers;
  /** An AsyncIterable is streamed. */
  readonly body: string | Buffer | AsyncIterable<string>;
  /** The code of an error that is not thrown, for the log. */
  readonly code?: string;
}

/** A path with the handler for its GET and HEAD requests. */
export interface Route {
  /** The path, with parameters in braces: /books/{bookId}. */
  readonly path: string;
  /** Headers of every response, including errors. */
  readonly headers?: Headers;
  /** Whether the route serves something other than the store's data. If so, its requests are logged at level debug. */
  readonly isAuxiliary?: boolean;
  /** @throws GatewayError */
  readonly get: (request: RouteRequest) => Promise<RouteResponse>;
}

/**
 * Returns the relative reference from a path to the gateway's root. References are relative, because a proxy may serve
 * the gateway below a prefix that the gateway does not know.
 */
export const rootFrom = (path: string): string =>
  // The path of `OPTIONS *` has no slash (RFC 9112 §3.2.4).
  '../'.repeat(Math.max(path.split('/').length - 2, 0)) || './';

export const jsonResponse = (value: unknown): RouteResponse => ({
  status: 200,
  body: JSON.stringify(value),
});

export const errorResponse = (error: GatewayError): RouteResponse => ({
  status: error.status,
  headers: error.headers,
  body: JSON.stringify(error),
});

export interface Match {
  readonly route: Route;
  readonly parameters: RouteRequest['parameters'];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const hasParameters = ({ path }: Route): boolean => path.includes('{');

export function createRouter(routes: readonly Route[]): (path: string) => Match | undefined {
  const fixed = new Map(
    routes
      .filter((route) => !hasParameters(route))
      .map((route): [string, Match] => [route.path, { route, parameters: {} }]),
  );
  const patterns = routes.filter(hasParameters).map((route) => {
    const pattern = route.path.replaceAll('.', '\\.').replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)');
    return { route, pattern: new RegExp(`^${pattern}$`) };
  });
  return (path) => {
    const match = fixed.get(path);
    if (match) return match;
    for (const { route, pattern } of patterns) {
      const found = pattern.exec(path);
      if (!found) continue;
      const groups = Object.entries(found.groups ?? {});
      const parameters = Object.fromEntries(groups.map(([name, text]) => [name, decode(text)]));
      return { route, parameters };
    }
    return undefined;
  };
}
