import SchemaBuilder, {
  BasePlugin,
  type FieldNullability,
  type InputFieldMap,
  type PothosOutputFieldConfig,
  type PothosTypeConfig,
  type SchemaTypes,
  type TypeParam,
} from '@pothos/core';
import type { GraphQLFieldResolver } from 'graphql';

import { requireScope } from '../auth/caller.ts';
import { originOf } from '../context.ts';
import { GatewayError, Undeclared } from '../contract/gateway-error.ts';
import { addError } from '../telemetry/request-log.ts';
import type { FieldSql } from './field-extensions.ts';

/** The description of every argument `idempotencyKey`. */
export const IDEMPOTENCY_KEY =
  'A unique key for this write, 1 to 255 characters, such as a UUID. If the key was already ' +
  'used with the same input, the mutation changes nothing and returns the original result. ' +
  'Keys are kept for a day, unless the operator has configured another period. Errors are ' +
  'not stored, so a mutation that failed can be repeated with the same key. The key can also ' +
  'be sent in the header `Idempotency-Key`.';

// A mutation has its own transaction; it costs more if it writes long strings. A field of Query with a resolver of its own
// probably runs a statement. The estimate adds the statements of all others.
const OWN_COST = { weight: '100' };
const LOOKUPS: (FieldSql['kind'] | undefined)[] = ['row', 'list'];

/** Returns a field with a cost, unless it has one. */
const withCost = <Types extends SchemaTypes>({
  extensions,
  ...field
}: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> => ({
  ...field,
  extensions: {
    ...extensions,
    directives: { ...extensions?.directives, cost: extensions?.directives?.cost ?? OWN_COST },
  },
});

type Resolve<Types extends SchemaTypes> = GraphQLFieldResolver<unknown, Types['Context'], object>;

/**
 * Adds a description of the scope to each mutation, checks the caller's scope, and sets the costs of mutations and of
 * fields of Query with a resolver of their own.
 */
class MutationsPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(
    field: PothosOutputFieldConfig<Types>,
  ): PothosOutputFieldConfig<Types> {
    if (field.kind === 'Query' && !LOOKUPS.includes(field.extensions?.sql?.kind)) {
      return withCost(field);
    }
    if (field.kind !== 'Mutation') return field;
    const unknown = field.pothosOptions.errors?.types?.find(
      (type) => !this.builder.configStore.hasConfig(type),
    );
    if (unknown) {
      throw new Error(
        `Mutation.${field.name} returns ${unknown.name}, which must be in the \`errors\` of a repository.`,
      );
    }
    const { scope, onlyAdds } = field.pothosOptions;
    const need = `Requires the scope \`${scope}\` if the gateway requires tokens.`;
    return withCost({
      ...field,
      description: `${field.description} ${need}`,
      extensions: { ...field.extensions, scope, onlyAdds },
    });
  }

  /** Puts the success type first in each result union, and describes when each member is returned. */
  override onTypeConfig(type: PothosTypeConfig): PothosTypeConfig {
    if (type.kind !== 'Union') return type;
    const success = type.types.at(-1);
    if (!success) return type;
    const errors = type.types.slice(0, -1);
    const { name } = this.buildCache.getTypeConfig(success);
    const lines = errors.map((error) => {
      const { name: code, description } = this.buildCache.getTypeConfig(error);
      return `- \`${code}\`: ${description}`;
    });
    return {
      ...type,
      types: [success, ...errors],
      description: [`- \`${name}\`: The mutation succeeded.`, ...lines].join('\n'),
    };
  }

  /**
   * Checks the scope, and gives the resolver the caller, and the idempotency key that is not in the document. Adds the code
   * of its error to the request log, before the error becomes data.
   */
  override wrapResolve(
    resolve: Resolve<Types>,
    field: PothosOutputFieldConfig<Types>,
  ): Resolve<Types> {
    if (field.kind !== 'Mutation') return resolve;
    const { scope, errors } = field.pothosOptions;
    return async (source, args, context, info) => {
      const { caller, requestLog, idempotencyKey } = originOf(context, 'request');
      const given = idempotencyKey === undefined ? args : { ...args, idempotencyKey };
      try {
        requireScope(caller, scope);
        const result = await resolve(source, given, { ...context, caller }, info);
        requestLog.hasWritten = true;
        return result;
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        addError(requestLog, error);
        // Only the errors of a store have a `spec`.
        const isDeclared = errors?.types?.some((type) => error instanceof type);
        throw 'spec' in error.constructor && !isDeclared
          ? new Undeclared(error, field.name)
          : error;
      }
    };
  }
}

declare global {
  export namespace PothosSchemaTypes {
    export interface Plugins<Types extends SchemaTypes> {
      mutations: MutationsPlugin<Types>;
    }

    export interface MutationFieldOptions<
      Types extends SchemaTypes,
      Type extends TypeParam<Types>,
      Nullable extends FieldNullability<Type>,
      Args extends InputFieldMap,
      ResolveReturnShape,
    > {
      /** The scope that callers need if the gateway requires tokens. */
      scope: string;
      /** Whether it only adds: agents need not ask their user first, as they do before a write that changes or deletes. */
      onlyAdds?: boolean;
    }
  }
}

/** Registers the plugin and returns its name. Called for each store. */
export function useMutationsPlugin(): 'mutations' {
  SchemaBuilder.allowPluginReRegistration = true;
  SchemaBuilder.registerPlugin('mutations', MutationsPlugin);
  return 'mutations';
}
