import SchemaBuilder, {
  BasePlugin,
  type PothosOutputFieldConfig,
  PothosSchemaError,
  type SchemaTypes,
} from '@pothos/core';
import type { GraphQLFieldResolver } from 'graphql';
import { z } from 'zod';

import { StoreError } from '../contract/errors.ts';
import { addErrorCode, type RequestLog } from '../telemetry/request-log.ts';

// A transaction of its own.
const COST = { weight: '100' };

const Options = z.object({ authScopes: z.object({ scope: z.string() }) });

const hasRequestLog = (context: object): context is { requestLog: RequestLog } =>
  'requestLog' in context;

/** What all mutations have in common: a scope, which none may do without, a cost, and errors as data. */
class MutationsPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(
    field: PothosOutputFieldConfig<Types>,
  ): PothosOutputFieldConfig<Types> {
    if (field.kind !== 'Mutation') return field;
    const { data } = Options.safeParse(field.pothosOptions);
    if (!data) throw new PothosSchemaError(`Mutation.${field.name} needs a scope.`);
    const need = `Needs the scope \`${data.authScopes.scope}\` where the gateway asks who calls.`;
    return {
      ...field,
      description: `${field.description} ${need}`,
      extensions: {
        ...field.extensions,
        directives: { ...field.extensions?.directives, cost: COST },
      },
    };
  }

  /** Takes note of the errors of mutations, before they become data. */
  override wrapResolve(
    resolve: GraphQLFieldResolver<unknown, Types['Context'], object>,
    { kind }: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    if (kind !== 'Mutation') return resolve;
    return async (source, args, context, info) => {
      try {
        return await resolve(source, args, context, info);
      } catch (error) {
        if (error instanceof StoreError && hasRequestLog(context))
          addErrorCode(context.requestLog, error.code);
        throw error;
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

export const mutationsPlugin = 'mutations';
SchemaBuilder.registerPlugin(mutationsPlugin, MutationsPlugin);
