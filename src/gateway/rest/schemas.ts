import { z } from 'zod';

import { withGatewayErrors } from '../contract/error-codes.ts';
import { GatewayError } from '../contract/gateway-error.ts';
import type { Resource, Store } from '../store.ts';

/** An error as the documentation shows it. */
export const EXAMPLE_ERROR = new GatewayError('INVALID_ID').toJSON();

/** The resource that every error response has. */
const errorResource = ({ errorCodes }: Store): Resource => ({
  rule: z.strictObject({
    code: z
      .enum(Object.keys(withGatewayErrors(errorCodes)))
      .describe('The error code, for programs.'),
    message: z.string().describe('A human-readable message.'),
    status: z.unknown().meta({ type: 'integer', format: 'int32', description: 'The HTTP status.' }),
  }),
  description: 'An error. GraphQL uses the same codes.',
  example: EXAMPLE_ERROR,
});

// Ids and dates define theirs with `meta`.
export const TO_OPENAPI = { target: 'openapi-3.0', unrepresentable: 'any' } as const;

/** Returns what the routes return, and what else a store has as a resource. */
export const resourcesOf = ({ rest }: Store): Record<string, Resource> =>
  Object.assign(
    {},
    rest.resources,
    ...rest.operations.map(({ result, resource }) => resource && { [result.resource]: resource }),
  );

/** Returns all schemas of the document, by their names. Those that contain others refer to them. */
export function toSchemas(store: Store): Record<string, object> {
  const resources: Record<string, Resource> = {
    ...resourcesOf(store),
    Error: errorResource(store),
  };
  const names = z.registry<{ id: string }>();
  for (const [id, { rule }] of Object.entries(resources)) names.add(rule, { id });
  const { schemas } = z.toJSONSchema(names, {
    ...TO_OPENAPI,
    io: 'input',
    uri: (id) => `#/components/schemas/${id}`,
    override: ({ jsonSchema }) => {
      // Code generators declare fields with a default as required. The descriptions name the defaults.
      delete jsonSchema.default;
      // OpenAPI 3.0 allows nothing beside a reference, so zod wraps it if there was more.
      Object.assign(jsonSchema, jsonSchema.allOf?.[0]);
      delete jsonSchema.allOf;
    },
  });
  return Object.fromEntries(
    Object.entries(resources).map(([id, { description, example }]) => {
      const { $id: _uri, ...schema } = schemas[id] ?? {};
      return [id, { ...schema, description, example }];
    }),
  );
}
