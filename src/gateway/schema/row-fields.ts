import type { InputRef, OutputRef } from '@pothos/core';

import type { MutationContext } from '../context.ts';
import type { ErrorType } from '../contract/gateway-error.ts';
import { MAX_LINES, MAX_LIST_SIZE } from '../contract/parse.ts';
import type { Database } from '../database/database.ts';
import { toFieldName, upperFirst } from '../model/words.ts';
import type { Deleted, Repository } from '../repository.ts';
import type { Builder, StoreTypes } from './builder-types.ts';
import { requireInputs } from './check-store.ts';
import { lineCost, TEXT_LENGTH } from './cost-directives.ts';
import type { defineLine } from './error-types.ts';
import type { defineInputTypes } from './input-types.ts';
import { IDEMPOTENCY_KEY } from './mutations.ts';
import { NODE_ID, toNodeId } from './nodes.ts';
import { rowByArgument } from './rows.ts';

// The change log contains a row's strings before and after the change. Recording a string of 255 characters (up to a
// kilobyte) takes PostgreSQL as long as reading ten fields of a row, which cost 1 each.
const TEXT_COST = 20;

/** Returns the cost of a mutation that writes a row whose strings have at most this total length. */
const costOf = ({ textLength }: Repository) => {
  const weight = String(100 + TEXT_COST * Math.ceil(textLength / TEXT_LENGTH));
  return { directives: { cost: { weight } } };
};

/** Returns the extensions of an input whose strings may be in indexed columns. */
const textsOf = ({ inputs }: Pick<Repository, 'inputs'>) => ({
  indexedTexts: inputs
    .filter(({ field }) => field?.type === 'String' && field.isIndexed)
    .map(({ name }) => name),
});

/** The functions that define input types, and the field `line` of errors. */
interface Definitions extends ReturnType<typeof defineInputTypes> {
  readonly addLine: ReturnType<typeof defineLine>;
}

const errorsOf = ({ constraints }: Repository): ErrorType[] =>
  constraints.map(({ error }) => error);

const idArgument = (builder: Builder, { words }: Repository) =>
  builder.args((t) => ({
    id: t.id({ required: true, description: `The id of the ${words.idOf}.` }),
  })).id;

const inputArgument = (builder: Builder, type: InputRef, rows: Repository, description: string) =>
  builder.args((t) => ({
    input: t.field({ type, required: true, description, extensions: textsOf(rows) }),
  }));

/** Creates the argument that all mutations share. */
const keyArgument = (builder: Builder) =>
  builder.args((t) => ({ idempotencyKey: t.string({ description: IDEMPOTENCY_KEY }) }));

/** Creates the resolver of a mutation, which writes for its caller. */
const resolveBy =
  <Result>(write: (session: Database, args: object, caller?: string) => Result) =>
  (_root: object, args: object, { source, caller }: MutationContext): Result =>
    write(source.db, args, caller.subject);

/**
 * Returns the options of a query field that looks up a row by its id. In a bookshop, `t.field(fields.row)` is
 *
 *     t.field({
 *       type: Book,
 *       nullable: true,
 *       description: 'The book with this id, or null if it does not exist.',
 *       args: { id: t.arg.id({ required: true, description: 'The id of the book.' }) },
 *       resolve: (_root, { id }, { source }) => books.byId.load(source, parseId(id, 'id')),
 *     })
 *
 * with `extensions` that check the id before execution and define the field in SQL.
 */
const toRowField = <Row extends object>(
  builder: Builder,
  type: OutputRef<Row>,
  rows: Repository<Row>,
) => ({
  type,
  nullable: true as const,
  description: `The ${rows.words.short} with this id, or null if it does not exist.`,
  args: { [rows.idField]: idArgument(builder, rows) },
  ...rowByArgument(rows.byId, rows.idField),
});

/** Defines the type that a mutation returns for a deleted row. */
export const defineDeleted =
  <Types extends StoreTypes>(builder: Builder<Types>) =>
  <Gone extends Deleted>({ type, words }: Repository, name: string, description: string) =>
    builder.objectRef<Gone>(name).implement({
      description,
      fields: (t) => ({
        id: t.id({
          description: `The id of the ${words.short}.`,
          extensions: { ofOtherRow: false },
          resolve: ({ id }) => id,
        }),
        nodeId: t.id({
          description: NODE_ID,
          extensions: { ofOtherRow: false },
          resolve: ({ id }) => toNodeId(type, id),
        }),
      }),
    });

const toDeleteField = (builder: Builder, rows: Repository) => {
  const { words, usedBy, notFound, inUse } = rows;
  const rule = inUse && ` ${upperFirst(words.one)} with ${usedBy.join(' or ')} cannot be deleted.`;
  const gone = `The \`id\` and \`nodeId\` of the deleted ${words.short}.`;
  return {
    type: defineDeleted(builder)(rows, `Deleted${rows.type}`, gone),
    description: `Deletes ${words.one}.${rule ?? ''}`,
    extensions: costOf(rows),
    errors: { types: [notFound, ...(inUse ? [inUse] : [])] },
    args: { id: idArgument(builder, rows), ...keyArgument(builder) },
    resolve: resolveBy(rows.delete),
  };
};

const toCreateField = <Row extends object>(
  builder: Builder,
  type: OutputRef<Row>,
  rows: Repository<Row>,
  { newInputOf }: ReturnType<typeof defineInputTypes>,
) => {
  requireInputs(rows);
  const { words } = rows;
  return {
    type,
    description: `Creates ${words.one}.`,
    onlyAdds: true,
    extensions: costOf(rows),
    errors: { types: errorsOf(rows) },
    args: {
      ...inputArgument(builder, newInputOf(rows), rows, `The new ${words.short}.`),
      ...keyArgument(builder),
    },
    resolve: resolveBy(rows.create),
  };
};

const toUpdateField = <Row extends object>(
  builder: Builder,
  type: OutputRef<Row>,
  rows: Repository<Row>,
  { updateInputOf }: ReturnType<typeof defineInputTypes>,
) => {
  const { words, notFound } = rows;
  return {
    type,
    description: `Changes ${words.one}.`,
    extensions: costOf(rows),
    errors: { types: [notFound, ...errorsOf(rows)] },
    args: {
      id: idArgument(builder, rows),
      ...inputArgument(builder, updateInputOf(rows), rows, 'The changes.'),
      ...keyArgument(builder),
    },
    resolve: resolveBy(rows.update),
  };
};

interface Written<Row> {
  readonly rows: readonly Row[];
}

/** The schema's names for the result of a mutation with lines. */
interface LineNames {
  /** The result type, and the field that contains the rows. */
  readonly result: string;
  readonly field: string;
  readonly description: string;
}

/**
 * Returns the options of a mutation that writes several rows, all or nothing, and returns the rows in the order of its
 * lines.
 */
export const defineLinesField =
  <Types extends StoreTypes>(builder: Builder<Types>) =>
  <Row extends object>(
    type: OutputRef<Row>,
    rows: Pick<Repository, 'textLength' | 'inputs'>,
    input: InputRef,
    { result, field, description }: LineNames,
  ) => {
    const cost = lineCost(TEXT_COST * Math.ceil(rows.textLength / TEXT_LENGTH));
    const listSize = {
      assumedSize: MAX_LIST_SIZE,
      slicingArguments: ['input'],
      sizedFields: [field],
      requireOneSlicingArgument: false,
    };
    return {
      type: builder.objectRef<Written<Row>>(result).implement({
        description,
        fields: (t) => ({
          [field]: t.field({
            type: [type],
            description: 'The results, in the order of `input`.',
            extensions: { ofOtherRow: false },
            resolve: ({ rows: written }) => [...written],
          }),
        }),
      }),
      extensions: { directives: { listSize } },
      args: builder.args((t) => ({
        input: t.field({
          type: [input],
          required: true,
          description: `The entries: 1 to ${MAX_LINES} if passed in a variable, or 1 to ${MAX_LIST_SIZE} if written in the document.`,
          extensions: { ...cost, ...textsOf(rows) },
        }),
        idempotencyKey: t.string({ description: IDEMPOTENCY_KEY }),
      })),
    };
  };

/** Returns the options of the mutations that create and update several rows. */
function toLineFields<Row extends object>(
  builder: Builder,
  type: OutputRef<Row>,
  rows: Repository<Row>,
  { newInputOf, updateLineOf, addLine }: Definitions,
) {
  const { words, notFound, createMany, updateMany } = rows;
  const field = toFieldName(words.all);
  const toField = (done: string, input: InputRef) =>
    defineLinesField(builder)(type, rows, input, {
      result: `${done}${upperFirst(field)}`,
      field,
      description: `The ${done.toLowerCase()} ${words.all}.`,
    });
  const rule =
    'all or nothing. The `line` of an error is the zero-based index of the entry in `input` that ' +
    'caused it.';
  return {
    createMany: () => {
      requireInputs(rows);
      return {
        ...toField('Created', newInputOf(rows)),
        description: `Creates several ${words.all}: ${rule}`,
        onlyAdds: true,
        errors: { types: addLine(errorsOf(rows)) },
        resolve: resolveBy(async (...parameters) => ({ rows: await createMany(...parameters) })),
      };
    },
    updateMany: () => ({
      ...toField('Updated', updateLineOf(rows)),
      description: `Changes several ${words.all}: ${rule}`,
      errors: { types: addLine([notFound, ...errorsOf(rows)]) },
      resolve: resolveBy(async (...parameters) => ({ rows: await updateMany(...parameters) })),
    }),
  };
}

/**
 * Returns the options of the fields that read and write a table's rows. For mutations, these are functions that define
 * the input types when called.
 */
export const defineRowFields =
  (builder: Builder, inputs: Definitions) =>
  <Row extends object>(type: OutputRef<Row>, rows: Repository<Row>) => ({
    row: toRowField(builder, type, rows),
    create: () => toCreateField(builder, type, rows, inputs),
    update: () => toUpdateField(builder, type, rows, inputs),
    delete: () => toDeleteField(builder, rows),
    ...toLineFields(builder, type, rows, inputs),
  });
