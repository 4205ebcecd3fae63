import type { z } from 'zod';

import type { Config } from '../config/config.ts';
import type { Context } from '../context.ts';
import { type ErrorCode, StoreError } from '../contract/errors.ts';
import type { RouteResponse, ResponseHead, RouteRequest, Route } from '../http/route.ts';
import { REST_LIFECYCLES, type RestLifecycle, toDay } from '../contract/lifecycle.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { SCHEMAS } from './schemas.ts';

/** A header that an answer has, for OpenAPI. */
export interface HeaderField {
  readonly description: string;
  readonly example: string;
}

export type HeaderFields = Readonly<Record<string, HeaderField>>;

/** One operation of REST: what it takes, what it answers, and how. */
export interface RestOperation {
  /** Its name in the registry: method and path. */
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
    readonly schema: keyof typeof SCHEMAS;
    readonly description: string;
    /** One with an ETag answers 304 to who has what it would answer. */
    readonly headers: HeaderFields;
  };
  /** What can go wrong besides what can with every operation. */
  readonly errors: readonly ErrorCode[];
  /** How to move to GraphQL: a request, the query that replaces it, and what differs. */
  readonly migration: {
    readonly request: string;
    readonly query: string;
    readonly differences: readonly string[];
  };
  /** @throws StoreError */
  readonly get: (context: Context, question: RouteRequest) => Promise<RouteResponse>;
}

/** When what is deprecated ends, and whether it does. */
export type SunsetConfig = Pick<Config, 'sunset' | 'enforceSunset'>;

/** What of the configuration the OpenAPI document tells. */
export type OpenApiConfig = SunsetConfig & Pick<Config, 'auth' | 'checksHost'>;

export const pathOf = ({ name }: RestOperation): string => name.replace('GET ', '');

export const lifecycleOf = ({ name }: RestOperation): RestLifecycle => REST_LIFECYCLES[name];

/** Until when an operation works, in a sentence or two. */
export function describeLifecycle(
  operation: RestOperation,
  { sunset, enforceSunset }: SunsetConfig,
): string {
  const { deprecatedSince, stability } = lifecycleOf(operation);
  if (!deprecatedSince) return `It is ${stability} and not deprecated.`;
  const end = enforceSunset ? 'It stops working' : 'It may stop working';
  return `Deprecated since ${toDay(deprecatedSince)}. ${end} on ${toDay(sunset)}.`;
}

/** Where people read what comes instead. */
export const guideOf = ({ id }: RestOperation): string => `/docs/moving#${id}`;

/** The headers of RFC 9745 §2 (Deprecation), RFC 8594 §3 (Sunset) and the links of both. */
export function lifecycleHead(operation: RestOperation, { sunset }: SunsetConfig): ResponseHead {
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
 * The route of an operation, which tells its life on every answer and ends at its sunset; its calls
 * are counted whatever they are answered, once the caller may make them.
 */
export function toRoute(
  operation: RestOperation,
  context: Context,
  sunset: SunsetConfig,
  { countCalls }: Metrics,
): Route {
  const ends = sunset.enforceSunset && lifecycleOf(operation).deprecatedSince !== undefined;
  return {
    path: pathOf(operation),
    head: lifecycleHead(operation, sunset),
    get: async (question) => {
      countCalls([operation.name], question.headers);
      if (ends && Date.now() >= sunset.sunset.getTime()) throw new StoreError('GONE');
      return operation.get(context, question);
    },
  };
}
