import SchemaBuilder, {
  BasePlugin,
  type PothosOutputFieldConfig,
  PothosSchemaError,
  type SchemaTypes,
} from '@pothos/core';
import { RequestCache } from '@pothos/plugin-scope-auth';
import type { GraphQLFieldResolver } from 'graphql';
import { z } from 'zod';

import { GatewayError } from '../contract/gateway-error.ts';
import { addErrorCode, type RequestLog } from '../telemetry/request-log.ts';

/** The description of every argument `idempotencyKey`. */
export const IDEMPOTENCY_KEY =
  'A unique name for this write, 1 to 255 characters, such as a UUID. If the key was already used ' +
  'with the same input, the mutation changes nothing and returns the first result as it was then. ' +
  'A key is kept for a day unless the operator set another time. Errors are not kept.';

// Each mutation has a transaction of its own. One that writes long texts costs more.
const WRITE_COST = { weight: '100' };

const Options = z.object({ authScopes: z.object({ scope: z.string() }) });

const hasRequestLog = (context: object): context is { requestLog: RequestLog } =>
  'requestLog' in context;

/** Gives each mutation a cost, and checks that it has a scope. */
class MutationsPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(
    field: PothosOutputFieldConfig<Types>,
  ): PothosOutputFieldConfig<Types> {
    if (field.kind !== 'Mutation') return field;
    const { data } = Options.safeParse(field.pothosOptions);
    if (!data) throw new PothosSchemaError(`Mutation.${field.name} has no scope.`);
    const need = `Needs the scope \`${data.authScopes.scope}\` if the gateway requires tokens.`;
    return {
      ...field,
      description: `${field.description} ${need}`,
      extensions: { directives: { cost: WRITE_COST }, ...field.extensions },
    };
  }

  /** Adds the errors of mutations to the request log, before they become data. */
  override wrapResolve(
    resolve: GraphQLFieldResolver<unknown, Types['Context'], object>,
    { kind }: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    if (kind !== 'Mutation') return resolve;
    return async (source, args, context, info) => {
      try {
        return await resolve(source, args, context, info);
      } catch (error) {
        if (error instanceof GatewayError && hasRequestLog(context))
          addErrorCode(context.requestLog, error.code);
        throw error;
      } finally {
        // The cache of plugin-scope-auth (4.2) is a WeakMap whose values refer to their keys: only a major
        // garbage collection would free the request. Without this, a mutation took a fifth more CPU time.
        RequestCache.clearForContext(context);
      }
    };
  }
}

declare global {
  export namespace PothosSchemaTypes {
    export interface Plugins<Types extends SchemaTypes> {
      mutations: MutationsPlugin<Types>;
    }
  }
}

/** Registers the plugin, for each store again; returns its name. */
export function useMutationsPlugin(): 'mutations' {
  SchemaBuilder.allowPluginReRegistration = true;
  SchemaBuilder.registerPlugin('mutations', MutationsPlugin);
  return 'mutations';
}
