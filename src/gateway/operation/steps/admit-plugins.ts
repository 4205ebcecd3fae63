import type { ExecutionResult, GraphQLSchema } from 'graphql';
import type { Plugin } from 'graphql-yoga';

import { fieldsIn } from '../../schema/fields-in.ts';
import type { StorePlugin } from '../../store.ts';
import { JsonText, mapResult } from '../json-text.ts';
import type { Call } from '../request.ts';

const HOOKS: ReadonlySet<string> = new Set([
  'onPluginInit',
  'onSchemaChange',
  'onEnveloped',
  'onParse',
  'onValidate',
  'onContextBuilding',
  'onExecute',
  'onSubscribe',
] satisfies (keyof Plugin)[]);

/** @throws Error that names a hook of Yoga's HTTP layer */
function rejectHttpHooks(plugin: StorePlugin): void {
  const hook = Object.keys(plugin).find((key) => key.startsWith('on') && !HOOKS.has(key));
  if (hook === undefined) return;
  throw new Error(
    `A plugin of the store has the hook ${hook}, which would never run: the gateway does not use Yoga's HTTP layer.`,
  );
}

const resolversIn = (schema: GraphQLSchema): unknown[] =>
  Array.from(fieldsIn(schema), ({ field }) => field.resolve);

/** @throws Error if a plugin has replaced what was accepted: its scope and cost would not have been checked */
function requireAccepted(call: Call, document: unknown, variables: unknown): void {
  if (document === call.operation.document && variables === call.variables) return;
  throw new Error('A plugin of the store has replaced the document or the variables.');
}

/** Returns a result with data that a plugin can read, and change for its caller alone: other streams may share it. */
const withOwnData = (result: ExecutionResult): ExecutionResult => {
  const { data } = result;
  return {
    ...result,
    data: data instanceof JsonText ? JSON.parse(data.text) : structuredClone(data),
  };
};

/** Returns a store's plugins between two of the gateway's, which reject what has no effect, and give them data as objects. */
export function admitPlugins(
  schema: GraphQLSchema,
  plugins: readonly StorePlugin[],
): StorePlugin[] {
  if (plugins.length === 0) return [];
  const resolvers = resolversIn(schema);
  let seesResults = false;
  const first: Plugin<Call> = {
    onExecute({ args: { contextValue }, executeFn, setExecuteFn }) {
      if (!seesResults) return;
      setExecuteFn((args) => {
        requireAccepted(contextValue, args.document, args.variableValues);
        return mapResult(executeFn(args), withOwnData);
      });
    },
    onSubscribe({ args: { contextValue }, subscribeFn, setSubscribeFn }) {
      if (!seesResults) return undefined;
      setSubscribeFn((args) => {
        requireAccepted(contextValue, args.document, args.variableValues);
        return subscribeFn(args);
      });
      return {
        onSubscribeResult: () => ({
          onNext: ({ result, setResult }) => setResult(withOwnData(result)),
        }),
      };
    },
  };
  const last: Plugin<Call> = {
    onPluginInit({ plugins: all }) {
      const admitted = all.slice(all.indexOf(first) + 1, all.indexOf(last));
      for (const plugin of admitted) rejectHttpHooks(plugin);
      seesResults = admitted.some(({ onExecute, onSubscribe }) => onExecute ?? onSubscribe);
    },
    onSchemaChange({ schema: changed }) {
      const now = resolversIn(schema);
      if (changed === schema && now.every((resolve, index) => resolve === resolvers[index])) return;
      throw new Error(
        'A plugin of the store changes the schema or its resolvers, which compiled queries do not call: use a plugin of Pothos.',
      );
    },
  };
  return [first, ...plugins, last];
}
