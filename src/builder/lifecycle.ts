import SchemaBuilder, {
  BasePlugin,
  type PothosInputFieldConfig,
  type PothosOutputFieldConfig,
  type SchemaTypes,
} from '@pothos/core';
import {
  DirectiveLocation,
  GraphQLDirective,
  type GraphQLFieldExtensions,
  GraphQLNonNull,
  GraphQLString,
} from 'graphql';

import { GRAPHQL_LIFECYCLES, type Lifecycle, toDay } from '../contract/lifecycle.ts';

/** The directive of the GraphQL working group's RFC on opt-in features. */
export const requiresOptIn = new GraphQLDirective({
  name: 'requiresOptIn',
  description: 'Experimental: it can change or be removed without notice.',
  isRepeatable: true,
  locations: [
    DirectiveLocation.FIELD_DEFINITION,
    DirectiveLocation.ARGUMENT_DEFINITION,
    DirectiveLocation.INPUT_FIELD_DEFINITION,
    DirectiveLocation.ENUM_VALUE,
  ],
  args: {
    feature: {
      type: new GraphQLNonNull(GraphQLString),
      description: 'The name of the feature that callers opt in to.',
    },
  },
});

/** Returns the reason for `@deprecated`; undefined if it is not deprecated. */
function deprecationReason({ deprecatedSince, successor }: Lifecycle): string | undefined {
  if (!deprecatedSince) return undefined;
  const instead = successor ? `: use ${successor}.` : '.';
  return `Deprecated since ${toDay(deprecatedSince)}${instead}`;
}

interface FieldConfig {
  name: string;
  deprecationReason?: string | null | undefined;
  extensions?: Readonly<GraphQLFieldExtensions<unknown, object>> | null | undefined;
}

/** Adds the lifecycle of its coordinate to a field or an argument. */
function addLifecycle<Config extends FieldConfig>(config: Config, coordinate: string): Config {
  const lifecycle = GRAPHQL_LIFECYCLES.get(coordinate);
  if (!lifecycle) return config;
  const directives = {
    ...config.extensions?.directives,
    requiresOptIn: { feature: config.name },
  };
  return {
    ...config,
    deprecationReason: deprecationReason(lifecycle),
    extensions: {
      ...config.extensions,
      ...(lifecycle.stability === 'experimental' && { directives }),
    },
  };
}

/** Adds the lifecycles of GRAPHQL_LIFECYCLES to fields and arguments, as directives. */
class LifecyclePlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(
    field: PothosOutputFieldConfig<Types>,
  ): PothosOutputFieldConfig<Types> {
    return addLifecycle(field, `${field.parentType}.${field.name}`);
  }

  override onInputFieldConfig(field: PothosInputFieldConfig<Types>): PothosInputFieldConfig<Types> {
    const { parentType, parentField, name } = field;
    return addLifecycle(
      field,
      parentField ? `${parentType}.${parentField}(${name}:)` : `${parentType}.${name}`,
    );
  }
}

declare global {
  export namespace PothosSchemaTypes {
    export interface Plugins<Types extends SchemaTypes> {
      lifecycle: LifecyclePlugin<Types>;
    }
  }
}

export const lifecyclePlugin = 'lifecycle';
SchemaBuilder.registerPlugin(lifecyclePlugin, LifecyclePlugin);
