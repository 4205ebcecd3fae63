import type { InputRef } from '@pothos/core';

import type { RangeType } from '../kinds/kind.ts';
import { describeFilter, filtersIn, type Place } from '../list/filter.ts';
import type { Repository } from '../repository.ts';
import { type Builder, typeNamed } from './pothos.ts';

// The cost of reading related rows: one statement reads them for all changes.
const READ_COST = '100';

const defineSortDirection = (builder: Builder) =>
  builder.enumType('SortDirection', {
    description: 'The sort direction.',
    values: {
      ASC: { description: 'Smallest value first.' },
      DESC: { description: 'Largest value first.' },
    },
  });

/** The input types of a store: filters, sorts, new rows and updates. */
export class InputTypes {
  readonly #builder: Builder;
  readonly #SortDirection: ReturnType<typeof defineSortDirection>;
  /** The types that several fields have, by their names. */
  readonly #shared = new Map<string, InputRef<object>>();

  constructor(builder: Builder) {
    this.#builder = builder;
    this.#SortDirection = defineSortDirection(builder);
  }

  #share(name: string, define: () => InputRef<object>): InputRef<object> {
    const type = this.#shared.get(name) ?? define();
    this.#shared.set(name, type);
    return type;
  }

  #rangeOf({ name, description, bound }: RangeType): InputRef<object> {
    return this.#share(name, () =>
      this.#builder.inputType(name, {
        description,
        fields: (t) => ({
          from: t.field({
            type: typeNamed(bound),
            description: 'The start of the range, inclusive.',
          }),
          before: t.field({
            type: typeNamed(bound),
            description: 'The end of the range, exclusive.',
          }),
        }),
      }),
    );
  }

  /** Defines the type of a filter; undefined if the filter has no conditions. */
  filterOf(
    name: string,
    description: string,
    place: Place,
    { filters, words }: Repository,
  ): InputRef<object> | undefined {
    const known = filtersIn(filters, place);
    // GraphQL does not allow an input type without fields.
    if (known.length === 0) return undefined;
    return this.#builder.inputType(name, {
      description,
      fields: (t) =>
        Object.fromEntries(
          known.map(([field, filter]) => {
            const { type, isList, cost, relation } = filter;
            const ref = typeof type === 'string' ? typeNamed(type) : this.#rangeOf(type);
            const weight = place === 'list' ? cost : relation && READ_COST;
            const options = {
              type: isList ? ([ref] as [InputRef]) : ref,
              description: describeFilter(filter, words, place),
              ...(weight !== undefined && { extensions: { directives: { cost: { weight } } } }),
            };
            return [field, t.field(options)];
          }),
        ),
    });
  }

  sortOf({ words: { prefix }, sorts }: Repository) {
    return this.#builder.inputType(`${prefix}Sort`, {
      description: 'The order of the list. Items with equal values are sorted by id.',
      fields: (t) => ({
        field: t.field({
          type: this.#builder.enumType(`${prefix}SortField`, {
            description: 'A field to sort the list by.',
            values: Object.fromEntries(
              Object.entries(sorts).map(([name, { description }]) => [name, { description }]),
            ),
          }),
          required: true,
          description: 'The field to sort by.',
        }),
        direction: t.field({
          type: this.#SortDirection,
          required: true,
          defaultValue: 'ASC',
          description: 'The sort direction.',
        }),
      }),
    });
  }

  newRowOf({ type, words, inputs }: Repository): InputRef<object> {
    const name = `New${type}`;
    return this.#share(name, () =>
      this.#builder.inputType(name, {
        description: `Input for a new ${words.singular}.`,
        fields: (t) =>
          Object.fromEntries(
            inputs.map(({ name: input, field, type: graphql, rule, create }) => [
              input,
              t.field({
                type: typeNamed(graphql),
                required: field !== undefined && !field.isNullable,
                ...(field?.default != null && { defaultValue: field.default }),
                description: create,
                extensions: { rule },
              }),
            ]),
          ),
      }),
    );
  }

  /** Defines the type of an update, or of one of several updates, which also contains the id of its row. */
  updateOf({ type, words, inputs }: Repository, isLine = false): InputRef<object> {
    const nulls = inputs.some(({ field }) => field?.isNullable) ? '' : ' No field can be null.';
    return this.#builder.inputType(`${type}Update${isLine ? 'Line' : ''}`, {
      description: `Changes to ${words.aSingular}. Omitted fields keep their values.${nulls}`,
      fields: (t) => ({
        ...(isLine && {
          id: t.id({ required: true, description: `The id of the ${words.singular}.` }),
        }),
        ...Object.fromEntries(
          inputs.flatMap(({ name, field, type: graphql, rule, update: description }) => {
            if (description === undefined) return [];
            const extensions = { rule, nullRemoves: field?.isNullable === true };
            return [[name, t.field({ type: typeNamed(graphql), description, extensions })]];
          }),
        ),
      }),
    });
  }
}
