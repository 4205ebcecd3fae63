import type { Config } from '../../config/config.ts';
import { toDay } from '../../kinds/times.ts';
import type { RestOperation } from '../../store.ts';
import { rootFrom } from '../http/request.ts';

export const pathOf = ({ name }: RestOperation): string => name.replace('GET ', '');

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
export const guideOf = ({ schema }: RestOperation): string => `docs/moving#${schema.operationId}`;

/** Returns the headers Deprecation (RFC 9745 §2), Sunset (RFC 8594 §3) and Link (RFC 8288). */
export function lifecycleHeaders(operation: RestOperation, { sunset }: Config) {
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
