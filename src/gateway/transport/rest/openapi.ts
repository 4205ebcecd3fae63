import { z } from 'zod';

import type { Config } from '../../config/config.ts';
import { withGatewayErrors } from '../../contract/error-codes.ts';
import { GatewayError } from '../../contract/gateway-error.ts';
import { toDay } from '../../kinds/times.ts';
import { POSITION_HEADER } from '../../operation/steps/choose-source.ts';
import type { RestRoute, Store } from '../../store.ts';
import { describeLifecycle, guideOf, lifecycleHeaders, pathOf } from './create-rest.ts';

// zod cannot convert ids and dates, so they define their OpenAPI schema with `meta`.
const TO_OPENAPI = { target: 'openapi-3.0', unrepresentable: 'any' } as const;

const BEARER = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'JWT',
  description: 'A token with the scope `read`. It is verified as RFC8725 recommends.',
} as const;

/** The codes of the errors that every route can return. */
const ROUTE_ERRORS = [
  'BAD_REQUEST',
  'REQUEST_TIMEOUT',
  'HEADERS_TOO_LARGE',
  'INTERNAL_SERVER_ERROR',
  'SERVICE_UNAVAILABLE',
];

const HEADERS: Readonly<Record<string, string>> = {
  'X-Request-Id': 'The id of the request in the log.',
  'Cache-Control': 'Whether the response may be stored, and must be revalidated.',
  Link: 'The documentation, the successor, and the next page, if any (RFC 8288).',
  Deprecation: 'The date of the deprecation, in seconds since 1970 (RFC 9745).',
  Sunset: 'The date on which the operation may stop working (RFC 8594).',
  ETag: 'The version of the resource.',
  'If-None-Match': 'An earlier `ETag`. If the resource is unchanged, the response is 304.',
  [POSITION_HEADER]: 'That of an earlier response. The result is at least as recent.',
  'WWW-Authenticate': 'How to authenticate, or what the token lacks (RFC 6750).',
  'Retry-After': 'How long to wait before trying again, in seconds.',
};

const ERROR_HEADERS: Readonly<Record<number, string>> = {
  401: 'WWW-Authenticate',
  403: 'WWW-Authenticate',
  503: 'Retry-After',
};

const toHeaders = (...names: readonly (string | false | undefined)[]) =>
  Object.fromEntries(
    names.flatMap((name) =>
      name ? [[name, { description: HEADERS[name], schema: { type: 'string' } }]] : [],
    ),
  );

const toParameters = (place: 'path' | 'query', rule: z.ZodObject | undefined): object[] =>
  Object.entries(rule?.shape ?? {}).map(([name, value]) => {
    const { description, example, ...schema } = z.toJSONSchema(value, TO_OPENAPI);
    return { name, in: place, required: place === 'path', description, example, schema };
  });

const toContent = (resource: string, examples?: object) => ({
  'application/json': { schema: { $ref: `#/components/schemas/${resource}` }, examples },
});

/** Returns the responses for a route's errors. Clients distinguish those with the same status by their codes. */
function toErrors({ errors, lifecycle, schema }: RestRoute, { errorCodes }: Store, config: Config) {
  const { auth, checksHost } = config;
  const codes = new Set([...errors, ...ROUTE_ERRORS]);
  if (schema.params) codes.add('URI_TOO_LONG');
  if (auth) codes.add('UNAUTHENTICATED');
  if (auth && !auth.readIsOpen) codes.add('FORBIDDEN');
  if (lifecycle.deprecatedSince) codes.add('GONE');
  if (checksHost) codes.add('MISDIRECTED_REQUEST');
  const kinds = Object.entries(withGatewayErrors(errorCodes)).filter(([code]) => codes.has(code));
  const toError = (status: number): object => {
    const same = kinds.filter(([, kind]) => kind.status === status);
    const examples = same.map(([code, { description }]) => [
      code,
      { value: { code, message: description, status } },
    ]);
    return {
      description: same
        .map(([code, { description }]) => `\`${code}\`: ${description}`)
        .join('\n\n'),
      headers: toHeaders(ERROR_HEADERS[status]),
      content: toContent('Error', Object.fromEntries(examples)),
    };
  };
  return Object.fromEntries(kinds.map(([, { status }]) => [status, toError(status)]));
}

function toOperation(route: RestRoute, store: Store, config: Config): object {
  const { tag, result, hasTag } = route;
  const { params, querystring, description, ...texts } = route.schema;
  const { stability, deprecatedSince, successor } = route.lifecycle;
  const { auth, replicaUrl } = config;
  const guide = `\`${successor}\` in GraphQL returns the same data: see the [migration guide](${guideOf(route)}).`;
  const sent = toHeaders(hasTag && 'If-None-Match', replicaUrl && POSITION_HEADER);
  // Described once: the other responses have the same.
  const lifecycle = Object.keys(lifecycleHeaders(route, config));
  const headers = toHeaders('X-Request-Id', 'Cache-Control', ...lifecycle, hasTag && 'ETag');
  return {
    ...texts,
    tags: [tag.name],
    description: [description, describeLifecycle(route, config), guide].join('\n\n'),
    parameters: [
      ...toParameters('path', params),
      ...toParameters('query', querystring),
      ...Object.entries(sent).map(([name, header]) => ({ name, in: 'header', ...header })),
    ],
    // GitBook has no badge for a stable operation.
    ...(deprecatedSince && { deprecated: true, 'x-deprecated-sunset': toDay(config.sunset) }),
    // The panel is hidden, because a single click on a beta route could load every row.
    ...(stability === 'beta' && { 'x-stability': 'beta', 'x-hideTryItPanel': true }),
    // A token is optional if anyone may read.
    ...(auth && { security: [...(auth.readIsOpen ? [{}] : []), { bearer: [] }] }),
    responses: {
      200: {
        description: store.rest.resources[result]?.description,
        headers,
        content: toContent(result),
      },
      ...(hasTag && { 304: { description: 'The resource is unchanged.' } }),
      ...toErrors(route, store, config),
    },
  };
}

function toSchemas({ errorCodes, rest: { resources } }: Store): Record<string, object> {
  const error = z.strictObject({
    code: z
      .enum(Object.keys(withGatewayErrors(errorCodes)))
      .describe('The error code, for programs.'),
    message: z.string().describe('A human-readable message.'),
    status: z.number().meta({ type: 'integer', format: 'int32', description: 'The HTTP status.' }),
  });
  const description = 'An error. GraphQL uses the same codes.';
  const Error = error.meta({ description, example: new GatewayError('INVALID_ID').toJSON() });
  const names = z.registry<{ id: string }>();
  for (const [id, rule] of Object.entries({ ...resources, Error })) names.add(rule, { id });
  const { schemas } = z.toJSONSchema(names, {
    ...TO_OPENAPI,
    io: 'input',
    uri: (id) => `#/components/schemas/${id}`,
    override: ({ jsonSchema }) => {
      // Code generators would treat fields with a default as required. The descriptions mention the defaults.
      delete jsonSchema.default;
      // zod wraps each reference in `allOf`, because OpenAPI 3.0 allows nothing next to it. Nothing is.
      Object.assign(jsonSchema, jsonSchema.allOf?.[0]);
      delete jsonSchema.allOf;
    },
  });
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $id: _uri, ...schema }]) => [id, schema]),
  );
}

export const toOpenApi = (store: Store, config: Config): object => ({
  openapi: '3.0.3',
  info: {
    title: store.title,
    // That of the REST contract, which does not depend on the gateway's release.
    version: '1.0.0',
    description: `The REST routes of the ${store.title.toLowerCase()} gateway. All other operations are in GraphQL, at /graphql.`,
    contact: { name: 'The operator of this gateway' },
    license: { name: 'MIT', url: 'https://spdx.org/licenses/MIT.html' },
  },
  externalDocs: { description: 'This document as a reference page.', url: 'docs' },
  // The folder of this document, which is the gateway's root.
  servers: [{ url: '.' }],
  tags: [...new Map(store.rest.routes.map(({ tag }) => [tag.name, tag])).values()],
  security: [],
  paths: Object.fromEntries(
    store.rest.routes.map((route) => [pathOf(route), { get: toOperation(route, store, config) }]),
  ),
  components: {
    schemas: toSchemas(store),
    ...(config.auth && { securitySchemes: { bearer: BEARER } }),
  },
});
