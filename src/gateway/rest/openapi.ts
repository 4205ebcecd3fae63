import Fastify, { type FastifySchema } from 'fastify';
import { z } from 'zod';

import type { Config } from '../config/config.ts';
import { toDay } from '../kinds/times.ts';
import type { RestOperation, Store } from '../store.ts';
import { POSITION_HEADER } from '../tables/source-for.ts';
import { toResponses } from './responses.ts';
import { describeLifecycle, guideOf, pathOf, urlOf } from './rest-operation.ts';
import { TO_OPENAPI, toSchemas } from './schemas.ts';

// The version of the REST contract, which does not depend on the gateway's release.
const API_VERSION = '1.0.0';

const BEARER = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'JWT',
  description: 'A token with the scope `read`.',
} as const;

const POSITION = {
  name: POSITION_HEADER,
  in: 'header',
  required: false,
  description:
    'The `Store-Position` from the response to a mutation. With this header, the returned data ' +
    'is at least as recent as that mutation.',
  example: '000644a1f3c2d5e0',
  schema: { type: 'string', pattern: '^[0-9a-f]{16}$' },
};

const IF_NONE_MATCH = {
  name: 'If-None-Match',
  in: 'header',
  required: false,
  description:
    'The `ETag` of an earlier response. If the resource is unchanged, the response is 304.',
  schema: { type: 'string' },
};

/** Returns the lifecycle of an operation for GitBook, which has no badge for a stable operation. */
function markers({ lifecycle }: RestOperation, { sunset }: Config): object {
  const { stability, deprecatedSince } = lifecycle;
  return {
    ...(deprecatedSince && { deprecated: true, 'x-deprecated-sunset': toDay(sunset) }),
    // The panel is hidden, because a single click on a beta route could load every row.
    ...(stability === 'beta' && { 'x-stability': 'beta', 'x-hideTryItPanel': true }),
  };
}

/** Describes an operation, its lifecycle and the query that replaces it, in Markdown. */
const describe = (operation: RestOperation, config: Config): string =>
  [
    operation.schema.description,
    describeLifecycle(operation, config),
    `\`${operation.lifecycle.successor}\` in GraphQL returns the same data ([migration guide](${guideOf(operation)})):`,
    `\`\`\`graphql\n${operation.migration.query}\n\`\`\``,
  ].join('\n\n');

/** Returns the schema of an operation's route with everything that @fastify/swagger can describe. */
function toSchema(operation: RestOperation, config: Config): FastifySchema {
  const { auth } = config;
  const { params, querystring, ...schema } = operation.schema;
  return {
    ...schema,
    ...(params && { params: z.toJSONSchema(params, TO_OPENAPI) }),
    ...(querystring && { querystring: z.toJSONSchema(querystring, TO_OPENAPI) }),
    tags: [operation.tag.name],
    description: describe(operation, config),
    ...markers(operation, config),
    // A token is optional if anyone may read.
    ...(auth && { security: [...(auth.readIsOpen ? [{}] : []), { bearer: [] }] }),
  };
}

/** Returns the options of @fastify/swagger for the document about a store's operations. */
const toOptions = ({ title, rest: { operations } }: Store, { auth }: Config) => ({
  openapi: {
    openapi: '3.0.3',
    info: {
      title,
      version: API_VERSION,
      description: `The REST routes of the ${title.toLowerCase()} gateway. All other operations are in GraphQL, at /graphql.`,
      contact: { name: 'The operator of this gateway' },
      license: { name: 'MIT', url: 'https://spdx.org/licenses/MIT.html' },
    },
    externalDocs: { description: 'This document as a reference page.', url: 'docs' },
    // The folder of this document, which is the gateway's root.
    servers: [{ url: '.' }],
    tags: [...new Map(operations.map(({ tag }) => [tag.name, tag])).values()],
    security: [],
    ...(auth && { components: { securitySchemes: { bearer: BEARER } } }),
  },
  // The server's URL is relative, so it is not part of any path.
  stripBasePath: false,
});

/**
 * Creates the OpenAPI document about a store's operations. @fastify/swagger describes the routes of an app. This app is
 * not the one that serves them: its plugin takes 13 ms and 2 MiB to load, which only the first request for the document
 * should pay.
 */
export async function createOpenApi(store: Store, config: Config): Promise<object> {
  const { default: swagger } = await import('@fastify/swagger');
  const app = Fastify().setValidatorCompiler(() => () => true);
  await app.register(swagger, toOptions(store, config));
  for (const operation of store.rest.operations) {
    app.get(urlOf(operation), { schema: toSchema(operation, config) }, () => {});
  }
  await app.ready();
  const document = app.swagger();
  // The plugin gives headers no examples, can't mark them as required, and has no schemas that no route uses.
  for (const operation of store.rest.operations) {
    const get = document.paths?.[pathOf(operation)]?.get;
    const parameters = [
      ...(get?.parameters ?? []),
      ...(operation.result.hasTag ? [IF_NONE_MATCH] : []),
      ...(config.replicaUrl ? [POSITION] : []),
    ];
    Object.assign(get ?? {}, { parameters, responses: toResponses(operation, store, config) });
  }
  const { components } = { components: {}, ...document };
  return { ...document, components: { ...components, schemas: toSchemas(store) } };
}
