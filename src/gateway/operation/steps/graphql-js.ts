import { MapperKind, mapSchema } from '@graphql-tools/utils';
import {
  defaultFieldResolver,
  execute,
  type ExecutionResult,
  getNamedType,
  type GraphQLFieldConfig,
  type GraphQLFieldResolver,
  type GraphQLSchema,
  isLeafType,
  isNonNullType,
  OperationTypeNode,
} from 'graphql';
import type { Plugin } from 'graphql-yoga';

import type { Config } from '../../config/config.ts';
import type { CallContext, Origin } from '../../context.ts';
import { DetachedRecipient } from '../../database/recipient.ts';
import { toWho } from '../../database/who.ts';
import { bindSource } from '../../model/loaders.ts';
import { findInputErrors } from '../accept/input.ts';
import { MAX_VALIDATION_ERRORS } from '../accept/validation.ts';
import { mapResult } from '../json-text.ts';
import type { Operation } from '../operation.ts';
import { perObject } from '../per-object.ts';
import type { Call, DocumentParams } from '../request.ts';
import { findIdempotencyKey } from './idempotency-key.ts';

/** Returns a resolver that fails, as graphql-js would, if a value is null although the schema says that it can't be. */
const orFail = (
  resolve: GraphQLFieldResolver<unknown, unknown>,
  coordinate: string,
): GraphQLFieldResolver<unknown, unknown> => {
  const requireValue = (value: unknown): unknown => {
    if (value != null) return value;
    throw new Error(`Cannot return null for non-nullable field ${coordinate}.`);
  };
  return (...parameters) => {
    const value: unknown = resolve(...parameters);
    return value instanceof Promise ? value.then(requireValue) : requireValue(value);
  };
};

/** Returns a copy of the schema in which every field is nullable: an error makes only its own field null. */
const withNullableFields = (schema: GraphQLSchema): GraphQLSchema =>
  mapSchema(schema, {
    [MapperKind.OBJECT_FIELD]: (config, name, type) => {
      if (!isNonNullType(config.type)) return config;
      const resolve = orFail(config.resolve ?? defaultFieldResolver, `${type}.${name}`);
      return { ...config, type: config.type.ofType, resolve };
    },
  });

const nullableOf = perObject(withNullableFields);

/** Returns a resolver that resolves nothing once a field has failed, or has a value that can't be sent. */
function untilError({
  type,
  resolve = defaultFieldResolver,
}: GraphQLFieldConfig<unknown, ExecutionContext>): GraphQLFieldResolver<unknown, ExecutionContext> {
  const named = getNamedType(type);
  return async (source, args, context, info) => {
    if (context.hasFailed) return null;
    try {
      const value: unknown = await resolve(source, args, context, info);
      const values = [value].flat().filter((one) => one != null);
      if (isLeafType(named)) for (const one of values) named.serialize(one);
      return value;
    } catch (error) {
      context.hasFailed = true;
      throw error;
    }
  };
}

const haltingOf = perObject((schema: GraphQLSchema) =>
  mapSchema(nullableOf(schema), {
    [MapperKind.OBJECT_FIELD]: (config) => ({ ...config, resolve: untilError(config) }),
  }),
);

/** Returns the schema with which an operation is executed, and which introspection describes. */
function schemaFor({ schema, usage }: Operation, onError: DocumentParams['onError']) {
  const isShown = usage.counted.has('Query.__schema') || usage.counted.has('Query.__type');
  if (isShown || onError === 'PROPAGATE') return schema;
  return onError === 'HALT' ? haltingOf(schema) : nullableOf(schema);
}

/** Returns the first error alone, if there is any. */
const toFirstError = (result: ExecutionResult): ExecutionResult =>
  result.errors ? { data: null, errors: result.errors.slice(0, 1) } : result;

/** The context that graphql-js passes to resolvers. */
export class ExecutionContext implements CallContext {
  readonly source: CallContext['source'];
  readonly changes: CallContext['changes'];
  readonly recipient: CallContext['recipient'];
  readonly origin: Origin;
  /** Whether a resolver has failed; only set with `onError: HALT`. */
  hasFailed = false;

  constructor({ source, changes, recipient }: CallContext, origin: Origin) {
    const who = origin.request && toWho(origin.request.caller, origin.request.requestLog);
    this.source = bindSource(source, new DetachedRecipient(recipient, who));
    this.changes = changes;
    this.recipient = recipient;
    this.origin = origin;
  }

  /** A mutation's own resolver gets a copy with the caller (schema/mutations.ts). */
  get caller(): never {
    throw new Error(
      'Only the resolver of a field of Mutation has a `caller`: callers share the results of other fields.',
    );
  }
}

/** Executes operations whose variables and arguments are valid with graphql-js. A mutation wakes the change feeds. */
export const executeByGraphqlJs = (config: Pick<Config, 'introspection'>): Plugin<Call> => ({
  onExecute({ args: { contextValue: call, rootValue }, setExecuteFn }) {
    const { operation, variables } = call;
    const isMutation = operation.node.operation === OperationTypeNode.MUTATION;
    setExecuteFn(() => {
      // Those of a subscription have been checked before it started.
      const errors = rootValue === undefined ? findInputErrors(call, config) : [];
      if (errors.length > 0) return { errors };
      if (isMutation) call.idempotencyKey = findIdempotencyKey(call);
      // A caller must learn what a mutation has written, although a later read fails, and what the change log contains,
      // although a row that it refers to is gone, unless it asks for something else.
      const { onError = operation.usesChanges ? 'NULL' : 'PROPAGATE' } = call.params;
      const args = {
        schema: schemaFor(operation, onError),
        document: operation.document,
        operationName: operation.node.name?.value,
        variableValues: variables,
        contextValue: new ExecutionContext(call, isMutation ? { request: call } : {}),
        rootValue,
        options: { maxCoercionErrors: MAX_VALIDATION_ERRORS },
      };
      const all = execute(args);
      const result = onError === 'HALT' ? mapResult(all, toFirstError) : all;
      return isMutation ? Promise.resolve(result).finally(call.changes.publishWrite) : result;
    });
  },
});
