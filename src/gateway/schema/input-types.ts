import type { InputRef } from '@pothos/core';

import type { RangeType } from '../kinds/kind.ts';
import type { Condition } from '../tables/conditions.ts';
import type { Repository } from '../tables/repository.ts';
import type { Builder, StoreTypes } from './builder-types.ts';

// Pothos finds a type by its name when the schema is built.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const named = (type: string) => type as unknown as InputRef;

/** Defines the input types of filters. */
function defineFilters<Types extends StoreTypes>(builder: Builder<Types>) {
  const ranges = new Map<string, InputRef>();
  /** Returns the input type of a range, which is defined for the first list that has one. */
  function rangeOf({ name, description, of }: RangeType): InputRef {
    const known = ranges.get(name);
    if (known) return known;
    const range: InputRef = builder.inputType(name, {
      description,
      fields: (t) => ({
        from: t.field({ type: named(of), description: 'The start of the range, part of it.' }),
        before: t.field({ type: named(of), description: 'The end of the range, not part of it.' }),
      }),
    });
    ranges.set(name, range);
    return range;
  }

  /** Returns the options of a condition. In the filter of changes nothing is read to find them. */
  const toOptions = (
    { type, isList, cost }: Condition,
    place: 'list' | 'changes',
  ): { type: InputRef | [InputRef]; extensions?: Readonly<Record<string, unknown>> } => {
    const ref = typeof type === 'string' ? named(type) : rangeOf(type);
    const weight = place === 'list' ? cost : undefined;
    return {
      type: isList ? [ref] : ref,
      ...(weight !== undefined && { extensions: { directives: { cost: { weight } } } }),
    };
  };

  return (
    name: string,
    description: string,
    place: 'list' | 'changes',
    { filters }: Repository,
  ): InputRef<object> =>
    builder.inputType(name, {
      description,
      fields: (t) =>
        Object.fromEntries(
          Object.entries(filters).flatMap(([field, condition]) => {
            const text = condition[place];
            if (text === undefined) return [];
            return [[field, t.field({ ...toOptions(condition, place), description: text })]];
          }),
        ),
    });
}

/** Defines the input types of filters and of writes. */
export function defineInputTypes<Types extends StoreTypes>(builder: Builder<Types>) {
  /** Defines the input type for a new row. */
  const newInputOf = ({ type, words, inputs }: Repository): InputRef<object> =>
    builder.inputType(`New${type}`, {
      description: `Input for a new ${words.short}.`,
      fields: (t) =>
        Object.fromEntries(
          inputs.map(({ name, field, type: graphql, create }) => [
            name,
            t.field({
              type: named(graphql),
              required: field !== undefined && !field.isNullable,
              ...(field?.default != null && { defaultValue: field.default }),
              description: create,
            }),
          ]),
        ),
    });

  /** Defines the input type of the changes to a row. */
  const updateInputOf = ({ type, words, inputs }: Repository): InputRef<object> => {
    const rule = inputs.some(({ field }) => field?.isNullable) ? '' : ' No field can be null.';
    return builder.inputType(`${type}Update`, {
      description: `Changes to ${words.one}. Omitted fields keep their values.${rule}`,
      fields: (t) =>
        Object.fromEntries(
          inputs.flatMap(({ name, type: graphql, update: description }) =>
            description === undefined
              ? []
              : [[name, t.field({ type: named(graphql), description })]],
          ),
        ),
    });
  };

  return { filterOf: defineFilters(builder), newInputOf, updateInputOf };
}
