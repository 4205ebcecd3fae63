import type { InputRef } from '@pothos/core';

import type { RangeType } from '../kinds/kind.ts';
import { describeFilter, type Filter, filtersIn, type Place } from '../list/filter.ts';
import type { Repository } from '../repository.ts';
import type { Builder } from './builder-types.ts';

// Refers to a type by its name, which Pothos finds when the schema is built.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const named = (type: string) => type as unknown as InputRef;

function defineFilters(builder: Builder) {
  const ranges = new Map<string, InputRef>();
  /** Returns the input type of a range, which is defined on first use. */
  function rangeOf({ name, description, of }: RangeType): InputRef {
    const known = ranges.get(name);
    if (known) return known;
    const range: InputRef = builder.inputType(name, {
      description,
      fields: (t) => ({
        from: t.field({ type: named(of), description: 'The start of the range, inclusive.' }),
        before: t.field({ type: named(of), description: 'The end of the range, exclusive.' }),
      }),
    });
    ranges.set(name, range);
    return range;
  }

  /** Returns the options of a filter's field. */
  const toOptions = (
    { type, isList, cost, changesCost }: Filter,
    place: Place,
  ): { type: InputRef | [InputRef]; extensions?: Readonly<Record<string, unknown>> } => {
    const ref = typeof type === 'string' ? named(type) : rangeOf(type);
    const weight = place === 'list' ? cost : changesCost;
    return {
      type: isList ? [ref] : ref,
      ...(weight !== undefined && { extensions: { directives: { cost: { weight } } } }),
    };
  };

  /** Defines the input type of a filter; undefined if the filter has no conditions. */
  return (
    name: string,
    description: string,
    place: Place,
    { filters, words }: Repository,
  ): InputRef<object> | undefined => {
    const known = filtersIn(filters, place);
    // GraphQL does not allow an input type without fields.
    if (known.length === 0) return undefined;
    return builder.inputType(name, {
      description,
      fields: (t) =>
        Object.fromEntries(
          known.map(([field, filter]) => [
            field,
            t.field({
              ...toOptions(filter, place),
              description: describeFilter(filter, words, place),
            }),
          ]),
        ),
    });
  };
}

export function defineInputTypes(builder: Builder) {
  const newInputs = new Map<string, InputRef<object>>();
  const defineNew = ({ type, words, inputs }: Repository): InputRef<object> =>
    builder.inputType(`New${type}`, {
      description: `Input for a new ${words.short}.`,
      fields: (t) =>
        Object.fromEntries(
          inputs.map(({ name, field, type: graphql, rule, create }) => [
            name,
            t.field({
              type: named(graphql),
              required: field !== undefined && !field.isNullable,
              ...(field?.default != null && { defaultValue: field.default }),
              description: create,
              extensions: { rule },
            }),
          ]),
        ),
    });
  /** Returns the input type of a new row, which is defined on first use. */
  const newInputOf = (rows: Repository): InputRef<object> => {
    const input = newInputs.get(rows.type) ?? defineNew(rows);
    newInputs.set(rows.type, input);
    return input;
  };

  /** Defines the input type of an update. If the input is a line of a mutation, it also contains the id of the row. */
  const defineUpdate = (typeName: string, rows: Repository, isLine: boolean): InputRef<object> => {
    const { words, inputs } = rows;
    const nulls = inputs.some(({ field }) => field?.isNullable) ? '' : ' No field can be null.';
    return builder.inputType(typeName, {
      description: `Changes to ${words.one}. Omitted fields keep their values.${nulls}`,
      fields: (t) => ({
        ...(isLine && {
          id: t.id({ required: true, description: `The id of the ${words.short}.` }),
        }),
        ...Object.fromEntries(
          inputs.flatMap(({ name, field, type: graphql, rule, update: description }) => {
            if (description === undefined) return [];
            const extensions = { rule, nullRemoves: field?.isNullable === true };
            return [[name, t.field({ type: named(graphql), description, extensions })]];
          }),
        ),
      }),
    });
  };

  const updateInputOf = (rows: Repository) => defineUpdate(`${rows.type}Update`, rows, false);
  const updateLineOf = (rows: Repository) => defineUpdate(`${rows.type}UpdateLine`, rows, true);

  return { filterOf: defineFilters(builder), newInputOf, updateInputOf, updateLineOf };
}
