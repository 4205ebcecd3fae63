import {
  DirectiveLocation,
  GraphQLBoolean,
  GraphQLDirective,
  GraphQLInt,
  GraphQLList,
  GraphQLNonNull,
  GraphQLString,
} from 'graphql';

const names = new GraphQLList(new GraphQLNonNull(GraphQLString));

/** @cost of the GraphQL Cost Directives Specification (https://ibm.github.io/graphql-specs/cost-spec.html). */
export const cost = new GraphQLDirective({
  name: 'cost',
  description:
    'What a field costs each time it may be answered: 1 where nothing is said, whatever its type. ' +
    'An operation costs the sum of its fields, those of a list as often as the list may have rows. ' +
    'An input field with a cost adds it to the field it is given to: 5 times as much for a text ' +
    'with less than three letters or digits in a row, which no index finds. Input fields, and ' +
    'totalCount, cost 20 times as much in a list of Query, which goes through the whole store.',
  locations: [DirectiveLocation.FIELD_DEFINITION, DirectiveLocation.INPUT_FIELD_DEFINITION],
  args: { weight: { type: new GraphQLNonNull(GraphQLString), description: 'A number.' } },
});

/** @listSize of the same specification. */
export const listSize = new GraphQLDirective({
  name: 'listSize',
  description: 'How many rows a list may have.',
  locations: [DirectiveLocation.FIELD_DEFINITION],
  args: {
    assumedSize: { type: GraphQLInt, description: 'As many where no argument says how many.' },
    slicingArguments: { type: names, description: 'The arguments that say how many.' },
    sizedFields: { type: names, description: 'The fields inside that have them: the lists.' },
    requireOneSlicingArgument: {
      type: GraphQLBoolean,
      defaultValue: true,
      description: 'Whether one of the arguments has to be there.',
    },
  },
});

/** What @cost says of a field or an input field. */
interface Cost {
  readonly weight: string;
}

/** What @listSize says of a connection. */
export interface ListSize {
  readonly assumedSize: number;
  readonly slicingArguments: readonly string[];
  readonly sizedFields: readonly string[];
  readonly requireOneSlicingArgument: boolean;
}

declare module 'graphql' {
  interface GraphQLFieldExtensions<_TSource, _TContext, _TArgs> {
    readonly directives?: {
      readonly cost?: Cost;
      readonly listSize?: ListSize;
      readonly requiresOptIn?: { readonly feature: string };
    };
    /** Whether it goes through every row of its list. */
    readonly readsEveryRow?: boolean;
  }

  interface GraphQLInputFieldExtensions {
    readonly directives?: { readonly cost?: Cost };
  }
}
