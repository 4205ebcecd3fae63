import type { z } from 'zod';

import type { Route } from '../http/route.ts';
import { serveAsset } from '../http/static-asset.ts';
import { JSON_CONTENT_TYPE } from '../http/write-response.ts';
import { type Stability, toDay } from '../contract/lifecycle.ts';
import {
  guideOf,
  lifecycleOf,
  describeLifecycle,
  type RestOperation,
  pathOf,
  type SunsetConfig,
  type OpenApiConfig,
} from './operation.ts';
import { OPERATIONS } from './operations.ts';
import { toComponents, toResponses } from './responses.ts';
import { SCHEMAS, toJsonSchema } from './schemas.ts';

// The words of oasdiff and of Scalar; GitBook's own are those of the registry.
const OASDIFF = { experimental: 'alpha', beta: 'beta', stable: 'stable' } as const;
const SCALAR = { experimental: 'experimental', beta: 'experimental', stable: 'stable' } as const;

const stabilityMarkers = (stability: Stability, deprecated: boolean): object => ({
  // GitBook has no badge for what is stable.
  ...(stability !== 'stable' && { 'x-stability': stability }),
  'x-stability-level': OASDIFF[stability],
  'x-scalar-stability': deprecated ? 'deprecated' : SCALAR[stability],
});

/** Where an operation is in its life, in the words of GitBook, oasdiff, Scalar and ReadMe. */
function markers(operation: RestOperation, { sunset }: SunsetConfig): object {
  const { stability, deprecatedSince, tryItOut } = lifecycleOf(operation);
  return {
    ...stabilityMarkers(stability, deprecatedSince !== undefined),
    ...(deprecatedSince && {
      deprecated: true,
      'x-deprecated-since': toDay(deprecatedSince),
      'x-deprecated-sunset': toDay(sunset),
      'x-sunset': toDay(sunset),
    }),
    ...(!tryItOut && { 'x-hideTryItPanel': true, 'x-readme': { 'explorer-enabled': false } }),
  };
}

const toParameters = (place: 'path' | 'query', rules: z.ZodObject): object[] =>
  Object.entries(rules.shape).map(([name, rule]) => {
    const { description, example, ...schema } = toJsonSchema(rule, 'output');
    return { name, in: place, required: place === 'path', description, example, schema };
  });

/** What an operation does, until when, and what GraphQL has instead: paragraphs of Markdown. */
const describe = (operation: RestOperation, sunset: SunsetConfig): string =>
  [
    operation.description,
    describeLifecycle(operation, sunset),
    `GraphQL's \`${lifecycleOf(operation).successor}\` does the same, and more ([how to move](${guideOf(operation)})):`,
    `\`\`\`graphql\n${operation.migration.query}\n\`\`\``,
  ].join('\n\n');

const BEARER = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'JWT',
  description: 'A token with the scope `read`, unless reading is open.',
};

/** What a caller has to show for reading: nothing, if it likes, where that is open. */
const toSecurity = (readIsOpen: boolean): object[] => [...(readIsOpen ? [{}] : []), { bearer: [] }];

function toOpenApi(operation: RestOperation, config: OpenApiConfig): object {
  const { id, tag, summary, parameters } = operation;
  return {
    operationId: id,
    tags: [tag],
    summary,
    description: describe(operation, config),
    ...markers(operation, config),
    ...(config.auth && { security: toSecurity(config.auth.readIsOpen) }),
    parameters: [
      ...toParameters('path', parameters.path),
      ...toParameters('query', parameters.query),
    ],
    responses: toResponses(operation, config),
  };
}

const VERSION = '1.0.0';
// A parser of YAML 1.1 would take a day that is not quoted for a date, not a string.
const YAML = { compat: 'yaml-1.1', blockQuote: 'literal', lineWidth: 0 } as const;

/** The OpenAPI document of all operations. */
export const createOpenApi = (config: OpenApiConfig): object => ({
  openapi: '3.0.3',
  info: {
    title: 'Pet store',
    version: VERSION,
    description:
      'The REST routes of the pet store gateway. GraphQL, at /graphql, has all the rest.',
    contact: { name: 'Whoever runs this gateway', url: '/' },
    license: { name: 'MIT', url: 'https://spdx.org/licenses/MIT.html' },
  },
  externalDocs: { description: 'This document as a page.', url: '/docs' },
  servers: [{ url: '/' }],
  tags: [
    { name: 'Pets', description: 'The pets of the store.' },
    { name: 'Store', description: 'What was ordered.' },
  ],
  security: [],
  paths: Object.fromEntries(
    OPERATIONS.map((operation) => [pathOf(operation), { get: toOpenApi(operation, config) }]),
  ),
  components: {
    schemas: SCHEMAS,
    ...toComponents(OPERATIONS, config),
    ...(config.auth && { securitySchemes: { bearer: BEARER } }),
  },
  // The resources of the specification, of which GraphQL reads and writes what no path does.
  'x-resources': Object.keys(SCHEMAS).map((name) => ({ $ref: `#/components/schemas/${name}` })),
});

/** GET /openapi.json and GET /openapi.yaml */
export const createOpenApiRoutes = (config: OpenApiConfig): Route[] => [
  {
    path: '/openapi.json',
    get: serveAsset(() => ({
      type: JSON_CONTENT_TYPE,
      content: JSON.stringify(createOpenApi(config)),
    })),
  },
  {
    path: '/openapi.yaml',
    get: serveAsset(async () => {
      const { stringify } = await import('yaml');
      return { type: 'application/yaml', content: stringify(createOpenApi(config), YAML) };
    }),
  },
];
