import type { OutputRef } from '@pothos/core';

import type { CallContext } from '../context.ts';
import {
  type ErrorType,
  IdempotencyConflict,
  InvalidId,
  InvalidInput,
} from '../contract/gateway-error.ts';
import type { KnownInput } from '../tables/inputs.ts';
import type { Repository, Words } from '../tables/repository.ts';
import type { Builder, StoreTypes } from './builder-types.ts';
import type { defineInputTypes } from './input-types.ts';
import { IDEMPOTENCY_KEY } from './mutations.ts';
import { rowByArgument } from './rows.ts';

/** Creates the argument that is the id of a row. */
const createIdArgument =
  <Types extends StoreTypes>(builder: Builder<Types>) =>
  (words: Words) =>
    builder.args((t) => ({
      id: t.id({ required: true, description: `The id of the ${words.idOf ?? words.short}.` }),
    })).id;

// The change log has the texts of a row before and after: PostgreSQL takes as long to record one of 255
// characters, a kilobyte, as to read ten fields of rows.
const TEXT_COST = 20;
const TEXT_LENGTH = 255;

/** The cost of a mutation, from the texts that it writes. */
const extensionsOf = ({ textLength }: Repository) => {
  const weight = String(100 + TEXT_COST * Math.ceil(textLength / TEXT_LENGTH));
  return { extensions: { directives: { cost: { weight } } } };
};

const hasIds = (inputs: readonly KnownInput[]): boolean => inputs.some(({ type }) => type === 'ID');

const errorsOf = (inputs: readonly KnownInput[]): ErrorType[] =>
  inputs.flatMap(({ missing, taken }) => [missing, taken].filter((type) => type !== undefined));

const createErrorsOf = (inputs: readonly KnownInput[]) => [
  ...(hasIds(inputs) ? [InvalidId] : []),
  InvalidInput,
  ...errorsOf(inputs),
  IdempotencyConflict,
];

/** Defines the query for a row, and the mutation that deletes it. */
function defineFieldsWithId<Types extends StoreTypes>(builder: Builder<Types>) {
  const idArgument = createIdArgument(builder);

  /** The options of a query for the row with an id. */
  const rowField = <Row extends object>(type: OutputRef<Row>, rows: Repository<Row>) => ({
    type,
    nullable: true as const,
    description: `The ${rows.words.short} with this id, or null if it does not exist.`,
    args: { [rows.idField]: idArgument(rows.words) },
    ...rowByArgument(rows.byId, rows.idField),
  });

  /** The options of a mutation that deletes a row. */
  const deleteField = <Row extends object>(type: OutputRef<Row>, rows: Repository<Row>) => ({
    type,
    description: `Deletes ${rows.words.one}.`,
    ...extensionsOf(rows),
    errors: { types: [InvalidId, rows.notFound, ...(rows.inUse ? [rows.inUse] : [])] },
    args: { id: idArgument(rows.words) },
    resolve: (_root: object, { id }: { id: string }, { loaders }: CallContext) =>
      rows.delete(loaders.db, id),
  });

  return { rowField, deleteField };
}

/** Defines the mutations that create and change a row. */
function defineFieldsWithInput<Types extends StoreTypes>(
  builder: Builder<Types>,
  { newInputOf, updateInputOf }: ReturnType<typeof defineInputTypes<Types>>,
) {
  const idArgument = createIdArgument(builder);

  /** The options of a mutation that creates a row. */
  const createField = <Row extends object>(type: OutputRef<Row>, rows: Repository<Row>) => {
    const { words, inputs } = rows;
    const used = inputs.filter(({ create }) => create !== undefined);
    const input = newInputOf(rows);
    return {
      type,
      description: `Creates ${words.one}.`,
      ...extensionsOf(rows),
      errors: {
        types: createErrorsOf(used),
      },
      args: builder.args((t) => ({
        input: t.field({ type: input, required: true, description: `The new ${words.short}.` }),
        idempotencyKey: t.string({ description: IDEMPOTENCY_KEY }),
      })),
      resolve: (
        _root: object,
        {
          input: data,
          idempotencyKey: key,
        }: { input: object; idempotencyKey?: string | null | undefined },
        { loaders, caller }: CallContext,
      ) => rows.create(loaders.db, data, { key, caller: caller.subject }),
    };
  };

  /** The options of a mutation that changes a row. */
  const updateField = <Row extends object>(type: OutputRef<Row>, rows: Repository<Row>) => {
    const { words, inputs } = rows;
    const used = inputs.filter(({ update }) => update !== undefined);
    const input = updateInputOf(rows);
    return {
      type,
      description: `Changes ${words.one}.`,
      ...extensionsOf(rows),
      errors: { types: [InvalidId, InvalidInput, rows.notFound, ...errorsOf(used)] },
      args: {
        id: idArgument(rows.words),
        ...builder.args((t) => ({
          input: t.field({ type: input, required: true, description: 'The changes.' }),
        })),
      },
      resolve: (
        _root: object,
        { id, input: data }: { id: string; input: object },
        { loaders }: CallContext,
      ) => rows.update(loaders.db, id, data),
    };
  };

  return { createField, updateField };
}

/** Defines the fields that read and write one row of a table. */
export const defineRowFields = <Types extends StoreTypes>(
  builder: Builder<Types>,
  inputs: ReturnType<typeof defineInputTypes<Types>>,
) => ({ ...defineFieldsWithId(builder), ...defineFieldsWithInput(builder, inputs) });
