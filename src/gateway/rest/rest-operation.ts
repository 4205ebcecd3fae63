import type { Config } from '../config/config.ts';
import type { Context } from '../context.ts';
import { GatewayError } from '../contract/gateway-error.ts';
import { positionOf } from '../database/cluster/position.ts';
import { rootFrom } from '../http/request.ts';
import type { Route } from '../http/route.ts';
import { toDay } from '../kinds/times.ts';
import type { RestOperation } from '../store.ts';

export const pathOf = ({ name }: Pick<RestOperation, 'name'>): string => name.replace('GET ', '');

export const deprecatedOf = (operations: readonly RestOperation[]) =>
  operations.flatMap(({ name, lifecycle: { deprecatedSince: since, successor } }) =>
    since ? { name, since, successor } : [],
  );

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

/** Returns the link to the operation's section in the migration guide, relative to the gateway's root. */
export const guideOf = ({ id }: RestOperation): string => `docs/moving#${id}`;

/** Returns the headers Deprecation (RFC 9745 §2), Sunset (RFC 8594 §3) and Link (RFC 8288). */
export function lifecycleHeaders(
  operation: RestOperation,
  { sunset }: Config,
): Readonly<Record<string, string>> {
  const { deprecatedSince } = operation.lifecycle;
  const root = rootFrom(pathOf(operation));
  const links = `<${root}openapi.json>; rel="service-desc"; type="application/json", <${root}docs>; rel="service-doc"; type="text/html"`;
  if (!deprecatedSince) return { Link: links };
  const guide = `<${root}${guideOf(operation)}>`;
  return {
    Deprecation: `@${deprecatedSince.getTime() / 1000}`,
    Sunset: sunset.toUTCString(),
    Link: `<${root}graphql>; rel="successor-version", ${guide}; rel="deprecation"; type="text/html", ${guide}; rel="sunset"; type="text/html", ${links}`,
  };
}

/**
 * Creates the route of an operation. Every response of the route has the lifecycle headers. If the sunset is enforced, a
 * deprecated operation returns GONE from the sunset date on.
 */
export function toRoute(operation: RestOperation, context: Context, config: Config): Route {
  const ends = config.enforceSunset && operation.lifecycle.deprecatedSince !== undefined;
  return {
    path: pathOf(operation),
    headers: lifecycleHeaders(operation, config),
    get: async (request) => {
      if (ends && Date.now() >= config.sunset.getTime()) throw new GatewayError('GONE');
      if (!context.reads) return operation.get(context, request);
      const position = positionOf(request.headers);
      return operation.get({ ...context, source: context.reads.sourceAt(position) }, request);
    },
  };
}
