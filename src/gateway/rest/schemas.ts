import { z } from 'zod';

import { withGatewayErrors } from '../contract/error-codes.ts';
import { GatewayError } from '../contract/gateway-error.ts';
import type { Resource, Store } from '../store.ts';

/** The schema of every error response. */
const errorResource = ({ errorCodes }: Store): Resource => ({
  rule: z.strictObject({
    code: z
      .enum(Object.keys(withGatewayErrors(errorCodes)))
      .describe('The error code, for programs.'),
    message: z.string().describe('A human-readable message.'),
    status: z.unknown().meta({ type: 'integer', format: 'int32', description: 'The HTTP status.' }),
  }),
  description: 'An error. GraphQL uses the same codes.',
  example: new GatewayError('INVALID_ID').toJSON(),
});

// zod cannot convert ids and dates, so they define their OpenAPI schema with `meta`.
export const TO_OPENAPI = { target: 'openapi-3.0', unrepresentable: 'any' } as const;

/** Returns the resources that the routes return, and the store's other resources, by name. */
export const resourcesOf = ({ rest }: Store): Record<string, Resource> =>
  Object.assign(
    {},
    rest.resources,
    ...rest.operations.map(({ result, resource }) => resource && { [result.resource]: resource }),
  );

/** Returns all schemas of the OpenAPI document by name. Schemas refer to each other by name. */
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
      // Code generators would treat fields with a default as required. The descriptions mention the defaults.
      delete jsonSchema.default;
      // OpenAPI 3.0 allows nothing next to a reference, so zod wraps each reference in `allOf`. The wrapper is removed,
      // because these references have nothing next to them.
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
