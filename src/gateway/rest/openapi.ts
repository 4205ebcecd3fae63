import { z } from 'zod';

import type { Config } from '../config/config.ts';
import { POSITION_HEADER } from '../database/cluster/position.ts';
import { toDay } from '../kinds/times.ts';
import type { RestOperation, Store } from '../store.ts';
import { toResponses } from './responses.ts';
import { describeLifecycle, guideOf, pathOf } from './rest-operation.ts';
import { TO_OPENAPI, toSchemas } from './schemas.ts';

// The version of the REST contract, which does not depend on the gateway's release.
const API_VERSION = '1.0.0';

/** Returns the lifecycle of an operation for GitBook, which has no badge for a stable operation. */
function markers(operation: RestOperation, { sunset }: Config): object {
  const { stability, deprecatedSince } = operation.lifecycle;
  return {
    ...(deprecatedSince && { deprecated: true, 'x-deprecated-sunset': toDay(sunset) }),
    // The panel is hidden, because a single click on a beta route could load every row.
    ...(stability === 'beta' && { 'x-stability': 'beta', 'x-hideTryItPanel': true }),
  };
}

const toParameters = (place: 'path' | 'query', rules: z.ZodObject): object[] =>
  Object.entries(rules.shape).map(([name, rule]) => {
    const { description, example, ...schema } = z.toJSONSchema(rule, TO_OPENAPI);
    return { name, in: place, required: place === 'path', description, example, schema };
  });

/** Describes an operation, its lifecycle and the query that replaces it, in Markdown. */
const describe = (operation: RestOperation, config: Config): string =>
  [
    operation.description,
    describeLifecycle(operation, config),
    `\`${operation.lifecycle.successor}\` in GraphQL returns the same data ([migration guide](${guideOf(operation)})):`,
    `\`\`\`graphql\n${operation.migration.query}\n\`\`\``,
  ].join('\n\n');

const BEARER = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'JWT',
  description: 'A token with the scope `read`.',
};

/** Returns the security requirement: a token, which is optional if anyone may read. */
const toSecurity = (readIsOpen: boolean): object[] => [...(readIsOpen ? [{}] : []), { bearer: [] }];

const POSITION = {
  name: POSITION_HEADER,
  in: 'header',
  required: false,
  description:
    'The `Store-Position` from the response to a mutation. With this header, the returned data ' +
    'is at least as recent as that mutation.',
  example: '0000000005475de0',
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

function toOpenApi(operation: RestOperation, store: Store, config: Config): object {
  const { id, tag, summary, parameters } = operation;
  return {
    operationId: id,
    tags: [tag.name],
    summary,
    description: describe(operation, config),
    ...markers(operation, config),
    ...(config.auth && { security: toSecurity(config.auth.readIsOpen) }),
    parameters: [
      ...toParameters('path', parameters.path),
      ...toParameters('query', parameters.query),
      ...('ETag' in operation.result.headers ? [IF_NONE_MATCH] : []),
      ...(config.replicaUrls.length > 0 ? [POSITION] : []),
    ],
    responses: toResponses(operation, store, config),
  };
}

export const createOpenApi = (store: Store, config: Config): object => ({
  openapi: '3.0.3',
  info: {
    title: store.title,
    version: API_VERSION,
    description: `The REST routes of the ${store.title.toLowerCase()} gateway. All other operations are in GraphQL, at /graphql.`,
    contact: { name: 'The operator of this gateway' },
    license: { name: 'MIT', url: 'https://spdx.org/licenses/MIT.html' },
  },
  externalDocs: { description: 'This document as a reference page.', url: 'docs' },
  // The folder of this document, which is the gateway's root.
  servers: [{ url: '.' }],
  tags: [...new Map(store.rest.operations.map(({ tag }) => [tag.name, tag])).values()],
  security: [],
  paths: Object.fromEntries(
    store.rest.operations.map((operation) => [
      pathOf(operation),
      { get: toOpenApi(operation, store, config) },
    ]),
  ),
  components: {
    schemas: toSchemas(store),
    ...(config.auth && { securitySchemes: { bearer: BEARER } }),
  },
});
