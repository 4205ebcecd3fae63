import type { OutputRef } from '@pothos/core';

import type { CallContext } from '../context.ts';
import {
  type ErrorType,
  IdempotencyConflict,
  InvalidId,
  InvalidInput,
} from '../contract/gateway-error.ts';
import type { KnownInput } from '../tables/inputs.ts';
import type { Repository } from '../tables/repository.ts';
import { upperFirst } from '../tables/words.ts';
import type { Builder, StoreTypes } from './builder-types.ts';
import type { defineInputTypes } from './input-types.ts';
import { IDEMPOTENCY_KEY } from './mutations.ts';
import { rowByArgument } from './rows.ts';

// The change log has the texts of a row before and after: PostgreSQL takes as long to record one of 255
// characters, a kilobyte, as to read ten fields of rows.
const TEXT_COST = 20;
const TEXT_LENGTH = 255;

/** The cost of a mutation, from the texts that it writes. */
const costOf = ({ textLength }: Repository) => {
  const weight = String(100 + TEXT_COST * Math.ceil(textLength / TEXT_LENGTH));
  return { directives: { cost: { weight } } };
};

const errorsOf = (inputs: readonly KnownInput[]): ErrorType[] =>
  inputs.flatMap(({ missing, taken }) => [missing, taken].filter((type) => type !== undefined));

/** Creates the argument that is the id of a row. */
const idArgument = <Types extends StoreTypes>(builder: Builder<Types>, { words }: Repository) =>
  builder.args((t) => ({
    id: t.id({ required: true, description: `The id of the ${words.idOf}.` }),
  })).id;

/** Returns the options of a query for the row with an id. */
const toRowField = <Types extends StoreTypes, Row extends object>(
  builder: Builder<Types>,
  type: OutputRef<Row>,
  rows: Repository<Row>,
) => ({
  type,
  nullable: true as const,
  description: `The ${rows.words.short} with this id, or null if it does not exist.`,
  args: { [rows.idField]: idArgument(builder, rows) },
  ...rowByArgument(rows.byId, rows.idField),
});

/** Returns the options of a mutation that deletes a row. */
const toDeleteField = <Types extends StoreTypes, Row extends object>(
  builder: Builder<Types>,
  type: OutputRef<Row>,
  rows: Repository<Row>,
) => {
  const { words, usedBy, notFound, inUse } = rows;
  const rule = usedBy && ` ${upperFirst(words.one)} with ${usedBy} cannot be deleted.`;
  return {
    type,
    description: `Deletes ${words.one}.${rule ?? ''}`,
    extensions: costOf(rows),
    errors: { types: [InvalidId, notFound, ...(inUse ? [inUse] : [])] },
    args: { id: idArgument(builder, rows) },
    resolve: (_root: object, { id }: { id: string }, { loaders }: CallContext) =>
      rows.delete(loaders.db, id),
  };
};

/** Returns the options of a mutation that creates a row. */
const toCreateField = <Types extends StoreTypes, Row extends object>(
  builder: Builder<Types>,
  type: OutputRef<Row>,
  rows: Repository<Row>,
  { newInputOf }: ReturnType<typeof defineInputTypes<Types>>,
) => {
  const { words, inputs } = rows;
  const hasIds = inputs.some((input) => input.type === 'ID');
  const NewInput = newInputOf(rows);
  return {
    type,
    description: `Creates ${words.one}.`,
    extensions: costOf(rows),
    errors: {
      types: [
        ...(hasIds ? [InvalidId] : []),
        InvalidInput,
        ...errorsOf(inputs),
        IdempotencyConflict,
      ],
    },
    args: builder.args((t) => ({
      input: t.field({ type: NewInput, required: true, description: `The new ${words.short}.` }),
      idempotencyKey: t.string({ description: IDEMPOTENCY_KEY }),
    })),
    resolve: (
      _root: object,
      args: { input: object; idempotencyKey?: string | null | undefined },
      { loaders, caller }: CallContext,
    ) => rows.create(loaders.db, args.input, { key: args.idempotencyKey, caller: caller.subject }),
  };
};

/** Returns the options of a mutation that changes a row. */
const toUpdateField = <Types extends StoreTypes, Row extends object>(
  builder: Builder<Types>,
  type: OutputRef<Row>,
  rows: Repository<Row>,
  { updateInputOf }: ReturnType<typeof defineInputTypes<Types>>,
) => {
  const { words, inputs, notFound } = rows;
  const UpdateInput = updateInputOf(rows);
  return {
    type,
    description: `Changes ${words.one}.`,
    extensions: costOf(rows),
    errors: { types: [InvalidId, InvalidInput, notFound, ...errorsOf(inputs)] },
    args: {
      id: idArgument(builder, rows),
      ...builder.args((t) => ({
        input: t.field({ type: UpdateInput, required: true, description: 'The changes.' }),
      })),
    },
    resolve: (_root: object, args: { id: string; input: object }, { loaders }: CallContext) =>
      rows.update(loaders.db, args.id, args.input),
  };
};

/** Defines the fields that read and write one row of a table. Those that write define their input types when they are called. */
export const defineRowFields =
  <Types extends StoreTypes>(
    builder: Builder<Types>,
    inputs: ReturnType<typeof defineInputTypes<Types>>,
  ) =>
  <Row extends object>(type: OutputRef<Row>, rows: Repository<Row>) => ({
    row: toRowField(builder, type, rows),
    create: () => toCreateField(builder, type, rows, inputs),
    update: () => toUpdateField(builder, type, rows, inputs),
    delete: () => toDeleteField(builder, type, rows),
  });
