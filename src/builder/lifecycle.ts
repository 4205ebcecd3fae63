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

/** As the GraphQL working group's RFC on opt-in features has it. */
export const requiresOptIn = new GraphQLDirective({
  name: 'requiresOptIn',
  description: 'Experimental: it may change or go without notice.',
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
      description: 'What callers opt in to.',
    },
  },
});

/** The reason that `@deprecated` gives; none for what is not deprecated. */
function deprecationReason({ deprecatedSince, successor }: Lifecycle): string | undefined {
  if (!deprecatedSince) return undefined;
  const instead = successor ? `: use ${successor}.` : '.';
  return `Deprecated since ${toDay(deprecatedSince)}${instead}`;
}

interface Marked {
  name: string;
  deprecationReason?: string | null | undefined;
  extensions?: Readonly<GraphQLFieldExtensions<unknown, object>> | null | undefined;
}

/** A field or an argument with what the registry says of its coordinate. */
function mark<Config extends Marked>(config: Config, coordinate: string): Config {
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

/** Marks what the registry calls deprecated or experimental. */
class LifecyclePlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(
    field: PothosOutputFieldConfig<Types>,
  ): PothosOutputFieldConfig<Types> {
    return mark(field, `${field.parentType}.${field.name}`);
  }

  override onInputFieldConfig(field: PothosInputFieldConfig<Types>): PothosInputFieldConfig<Types> {
    const { parentType, parentField, name } = field;
    return mark(
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
