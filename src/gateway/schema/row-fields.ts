import type { InputRef, OutputRef } from '@pothos/core';

import type { MutationContext } from '../context.ts';
import type { ErrorType } from '../contract/gateway-error.ts';
import { MAX_LINES, MAX_LIST_SIZE } from '../contract/parse.ts';
import type { Mutate } from '../model/define-write.ts';
import { toFieldName, upperFirst } from '../model/words.ts';
import type { Deleted } from '../model/writes.ts';
import type { Repository } from '../repository.ts';
import { requireInputs } from './check-store.ts';
import { createCount, createPage, defineList, rootPage } from './connections.ts';
import { costOf, listOf, textsOf } from './cost-directives.ts';
import type { ErrorTypes } from './error-types.ts';
import type { InputTypes } from './input-types.ts';
import { IDEMPOTENCY_KEY } from './mutations.ts';
import { NODE_ID, toNodeId } from './nodes.ts';
import type { Builder } from './pothos.ts';
import { rowByArgument } from './rows.ts';

const constraintErrors = ({ constraints }: Repository): ErrorType[] =>
  constraints.map(({ error }) => error);

const resolveBy =
  <Result>(write: Mutate<Result>) =>
  (_root: object, args: object, { source, caller }: MutationContext): Promise<Result> =>
    write(source.db, args, caller.subject);

/** The schema's names for the result of a mutation with lines. */
interface LineNames {
  /** The result type, and the field that contains the rows. */
  readonly result: string;
  readonly field: string;
  readonly description: string;
}

/** The options of the fields that read and write a table's rows. */
export class RowFields<Models extends object, Row extends object> {
  readonly #builder: Builder<Models>;
  readonly #type: OutputRef<Row>;
  readonly #repository: Repository<Row>;
  readonly #inputs: InputTypes;
  readonly #errors: ErrorTypes;
  readonly #list: ReturnType<typeof defineList<Models, Row>>;

  constructor(
    builder: Builder<Models>,
    type: OutputRef<Row>,
    repository: Repository<Row>,
    { inputs, errors }: { readonly inputs: InputTypes; readonly errors: ErrorTypes },
  ) {
    this.#builder = builder;
    this.#type = type;
    this.#repository = repository;
    this.#inputs = inputs;
    this.#errors = errors;
    this.#list = defineList(builder, type, repository, inputs);
  }

  /**
   * A field of Query that looks up a row by its id. In a bookshop, `t.field(fields.row)` is
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
  get row() {
    const { words, idField, byId } = this.#repository;
    return {
      type: this.#type,
      nullable: true as const,
      description: `The ${words.singular} with this id, or null if it does not exist.`,
      args: { [idField]: this.#idArgument() },
      ...rowByArgument(byId, idField),
    };
  }

  /** The list of all rows: `t.connection(...fields.list)`. */
  get list() {
    const { words, pages } = this.#repository;
    const { args, connection } = this.#list;
    const description = `The list of ${words.plural}.`;
    return [{ type: this.#type, args, description, ...rootPage(pages) }, connection] as const;
  }

  /** The list of the rows that refer to the parent row in the column `field`. */
  listBy<Parent extends object>(
    { id }: Repository<Parent>,
    field: keyof Row & string,
    description: string,
  ) {
    const { args, connection } = this.#list;
    const page = createPage((parent: Parent) => id.of(parent))(this.#repository.pagesBy(field));
    return [{ type: this.#type, args, description, ...page }, connection] as const;
  }

  /** An Int with the number of the rows that refer to the parent row in the column `field`. */
  countBy<Parent extends object>(
    { id }: Repository<Parent>,
    field: keyof Row & string,
    description: string,
  ) {
    const pages = this.#repository.pagesBy(field);
    return { description, ...createCount(pages, (parent: Parent) => id.of(parent)) };
  }

  create() {
    const repository = this.#repository;
    const { words } = repository;
    requireInputs(repository);
    return {
      type: this.#type,
      description: `Creates ${words.aSingular}.`,
      onlyAdds: true,
      extensions: costOf(repository),
      errors: { types: constraintErrors(repository) },
      args: this.#inputArguments(this.newInput(), `The new ${words.singular}.`),
      resolve: resolveBy(repository.create),
    };
  }

  update() {
    const repository = this.#repository;
    return {
      type: this.#type,
      description: `Changes ${repository.words.aSingular}.`,
      extensions: costOf(repository),
      errors: { types: [repository.notFound, ...constraintErrors(repository)] },
      args: {
        id: this.#idArgument(),
        ...this.#inputArguments(this.#inputs.updateOf(repository), 'The changes.'),
      },
      resolve: resolveBy(repository.update),
    };
  }

  delete() {
    const repository = this.#repository;
    const { type, words, usedBy, notFound, inUse } = repository;
    const rule =
      inUse && ` ${upperFirst(words.aSingular)} with ${usedBy.join(' or ')} cannot be deleted.`;
    return {
      type: this.deleted(
        `Deleted${type}`,
        `The \`id\` and \`nodeId\` of the deleted ${words.singular}.`,
      ),
      description: `Deletes ${words.aSingular}.${rule ?? ''}`,
      extensions: costOf(repository),
      errors: { types: [notFound, ...(inUse ? [inUse] : [])] },
      args: this.idArguments(),
      resolve: resolveBy(repository.delete),
    };
  }

  createMany() {
    const repository = this.#repository;
    requireInputs(repository);
    return {
      ...this.#lines('Creates', 'Created', this.newInput(), constraintErrors(repository)),
      onlyAdds: true,
      resolve: resolveBy(repository.createMany),
    };
  }

  updateMany() {
    const repository = this.#repository;
    const errors = [repository.notFound, ...constraintErrors(repository)];
    return {
      ...this.#lines('Changes', 'Updated', this.#inputs.updateOf(repository, true), errors),
      resolve: resolveBy(repository.updateMany),
    };
  }

  newInput(): InputRef<object> {
    return this.#inputs.newRowOf(this.#repository);
  }

  /** Defines the type that a mutation returns for a deleted row. */
  deleted<Gone extends Deleted>(name: string, description: string) {
    const { type, words } = this.#repository;
    return this.#builder.objectRef<Gone>(name).implement({
      description,
      fields: (t) => ({
        id: t.id({
          description: `The id of the ${words.singular}.`,
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
  }

  /**
   * Everything but the resolver of a mutation that writes several rows, all or nothing; the resolver returns the rows in
   * the order of the lines. Its errors get the field `line`.
   */
  lines(input: InputRef, errors: readonly ErrorType[], { result, field, description }: LineNames) {
    const type = this.#type;
    const repository = this.#repository;
    return {
      type: this.#builder.objectRef<readonly Row[]>(result).implement({
        description,
        fields: (t) => ({
          [field]: t.field({
            type: [type],
            description: 'The results, in the order of `input`.',
            extensions: { ofOtherRow: false },
            resolve: (rows) => [...rows],
          }),
        }),
      }),
      extensions: listOf(MAX_LIST_SIZE, ['input'], [field]),
      errors: { types: this.#errors.withLine(errors) },
      args: this.#builder.args((t) => ({
        input: t.field({
          type: [input],
          required: true,
          description: `The entries: 1 to ${MAX_LINES} if passed in a variable, or 1 to ${MAX_LIST_SIZE} if written in the document.`,
          extensions: { ...costOf(repository, true), ...textsOf(repository) },
        }),
        ...this.#keyArgument(),
      })),
    };
  }

  #lines(does: string, done: string, input: InputRef, errors: readonly ErrorType[]) {
    const { plural } = this.#repository.words;
    const field = toFieldName(plural);
    return {
      ...this.lines(input, errors, {
        result: `${done}${upperFirst(field)}`,
        field,
        description: `The ${done.toLowerCase()} ${plural}.`,
      }),
      description:
        `${does} several ${plural}: all or nothing. The \`line\` of an error is the zero-based index of ` +
        'the entry in `input` that caused it.',
    };
  }

  /** The arguments of a mutation that needs only the id of a row. */
  idArguments() {
    return { id: this.#idArgument(), ...this.#keyArgument() };
  }

  #idArgument() {
    const { idOf } = this.#repository.words;
    return this.#builder.args((t) => ({
      id: t.id({ required: true, description: `The id of the ${idOf}.` }),
    })).id;
  }

  #inputArguments(type: InputRef, description: string) {
    const extensions = textsOf(this.#repository);
    return this.#builder.args((t) => ({
      input: t.field({ type, required: true, description, extensions }),
      ...this.#keyArgument(),
    }));
  }

  #keyArgument() {
    return this.#builder.args((t) => ({
      idempotencyKey: t.string({ description: IDEMPOTENCY_KEY }),
    }));
  }
}
