import type { z } from 'zod';

import type { Config } from '../config/config.ts';
import type { Context } from '../context.ts';
import type { ErrorCode } from '../contract/error-codes.ts';
import { StoreError } from '../contract/errors.ts';
import { REST_LIFECYCLES, type RestLifecycle, toDay } from '../contract/lifecycle.ts';
import { parsePosition } from '../database/cluster/position.ts';
import type { RouteResponse, ResponseHead, RouteRequest, Route } from '../http/route.ts';

/** An operation of REST: its route, its documentation, and its handler. */
export interface RestOperation {
  /** Its name in REST_LIFECYCLES: method and path. */
  readonly name: keyof typeof REST_LIFECYCLES;
  readonly id: string;
  readonly tag: 'Pets' | 'Store';
  readonly summary: string;
  readonly description: string;
  readonly parameters: {
    readonly path: z.ZodObject;
    readonly query: z.ZodObject;
  };
  readonly result: {
    readonly schema: 'Pet' | 'Orders';
    readonly description: string;
    /** An example of each header. With an ETag, the operation also responds with 304. */
    readonly headers: Readonly<Record<string, string>>;
  };
  /** Its errors, besides those of every operation. */
  readonly errors: readonly ErrorCode[];
  /** The migration to GraphQL: a request, the query that replaces it, and the differences. */
  readonly migration: {
    readonly request: string;
    readonly query: string;
    readonly differences: readonly string[];
  };
  /** @throws StoreError */
  readonly get: (context: Context, request: RouteRequest) => Promise<RouteResponse>;
}

export const pathOf = ({ name }: RestOperation): string => name.replace('GET ', '');

export const lifecycleOf = ({ name }: RestOperation): RestLifecycle => REST_LIFECYCLES[name];

/** Describes the stability, the deprecation and the sunset of an operation. */
export function describeLifecycle(
  operation: RestOperation,
  { sunset, enforceSunset }: Config,
): string {
  const { deprecatedSince, stability } = lifecycleOf(operation);
  if (!deprecatedSince) return `This operation is ${stability} and not deprecated.`;
  const end = enforceSunset ? 'It stops working' : 'It may stop working';
  return `Deprecated since ${toDay(deprecatedSince)}. ${end} on ${toDay(sunset)}.`;
}

/** The place of the operation in the migration guide. */
export const guideOf = ({ id }: RestOperation): string => `/docs/moving#${id}`;

/** Returns the headers Deprecation (RFC 9745 §2) and Sunset (RFC 8594 §3), and their links. */
export function lifecycleHead(operation: RestOperation, { sunset }: Config): ResponseHead {
  const { deprecatedSince } = lifecycleOf(operation);
  const links = [
    '</openapi.json>; rel="service-desc"; type="application/json"',
    '</docs>; rel="service-doc"; type="text/html"',
  ];
  if (!deprecatedSince) return { links };
  return {
    headers: {
      Deprecation: `@${deprecatedSince.getTime() / 1000}`,
      Sunset: sunset.toUTCString(),
    },
    links: [
      '</graphql>; rel="successor-version"',
      `<${guideOf(operation)}>; rel="deprecation"; type="text/html"`,
      `<${guideOf(operation)}>; rel="sunset"; type="text/html"`,
      ...links,
    ],
  };
}

/**
 * Creates the route of an operation. Every response has the lifecycle headers. After its sunset date,
 * if that is enforced, a deprecated operation returns GONE.
 */
export function toRoute(operation: RestOperation, context: Context, sunset: Config): Route {
  const ends = sunset.enforceSunset && lifecycleOf(operation).deprecatedSince !== undefined;
  return {
    path: pathOf(operation),
    head: lifecycleHead(operation, sunset),
    get: async (request) => {
      if (ends && Date.now() >= sunset.sunset.getTime()) throw new StoreError('GONE');
      if (!context.reads) return operation.get(context, request);
      const position = parsePosition(request.headers['store-position']);
      return operation.get({ ...context, store: context.reads.storeAt(position) }, request);
    },
  };
}
