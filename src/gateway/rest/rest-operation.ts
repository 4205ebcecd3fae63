import { type Config, ConfigError } from '../config/config.ts';
import type { Context } from '../context.ts';
import { toDay } from '../contract/day.ts';
import { GatewayError } from '../contract/gateway-error.ts';
import { parsePosition } from '../database/cluster/position.ts';
import type { ResponseHead, Route } from '../http/route.ts';
import type { RestOperation } from '../store.ts';

export const pathOf = ({ name }: Pick<RestOperation, 'name'>): string => name.replace('GET ', '');

/** Returns the operations that are deprecated. */
export const deprecatedOf = (operations: readonly RestOperation[]) =>
  operations.flatMap(({ name, lifecycle: { deprecatedSince: since, successor } }) =>
    since ? { name, since, successor } : [],
  );

/** @throws ConfigError if the sunset is before a deprecation */
export function checkSunset(operations: readonly RestOperation[], { sunset }: Config): void {
  const later = deprecatedOf(operations).find(({ since }) => since > sunset);
  if (!later) return;
  throw new ConfigError(`SUNSET_DATE can't be before the deprecation, ${toDay(later.since)}.`);
}

/** Describes the stability, the deprecation and the sunset of an operation. */
export function describeLifecycle(
  operation: RestOperation,
  { sunset, enforceSunset }: Config,
): string {
  const { deprecatedSince, stability } = operation.lifecycle;
  if (!deprecatedSince) return `This operation is ${stability} and not deprecated.`;
  const end = enforceSunset ? 'It stops working' : 'It may stop working';
  return `Deprecated since ${toDay(deprecatedSince)}. ${end} on ${toDay(sunset)}.`;
}

/** The place of the operation in the migration guide. */
export const guideOf = ({ id }: RestOperation): string => `/docs/moving#${id}`;

/** Returns the headers Deprecation (RFC 9745 §2) and Sunset (RFC 8594 §3), and their links. */
export function lifecycleHead(operation: RestOperation, { sunset }: Config): ResponseHead {
  const { deprecatedSince } = operation.lifecycle;
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
  const ends = sunset.enforceSunset && operation.lifecycle.deprecatedSince !== undefined;
  return {
    path: pathOf(operation),
    head: lifecycleHead(operation, sunset),
    get: async (request) => {
      if (ends && Date.now() >= sunset.sunset.getTime()) throw new GatewayError('GONE');
      if (!context.reads) return operation.get(context, request);
      const position = parsePosition(request.headers['store-position']);
      return operation.get({ ...context, loaders: context.reads.loadersAt(position) }, request);
    },
  };
}
