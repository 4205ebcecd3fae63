import type { OutputRef } from '@pothos/core';

import type { MutationContext } from '../context.ts';
import type { Kind } from '../kinds/kind.ts';
import { KINDS } from '../kinds/kinds.ts';
import type { Model } from '../model/stored-table.ts';
import type { Repository } from '../repository.ts';
import type { Store } from '../store.ts';
import { ChangeTypes } from './change-types.ts';
import { checkStore, requireTypes } from './check-store.ts';
import { defineTotalCount } from './connections.ts';
import { DIRECTIVES } from './cost-directives.ts';
import { ErrorTypes } from './error-types.ts';
import { defineGroups } from './group-types.ts';
import { InputTypes } from './input-types.ts';
import { defineNodes } from './nodes.ts';
import { type Builder, createPothos } from './pothos.ts';
import { RowFields } from './row-fields.ts';
import { replaceId } from './scalars.ts';
import { limitResults, setTextSizes } from './sizes.ts';

interface BuilderOptions {
  /** The datamodel that Pothos' generator wrote. */
  readonly datamodel: { readonly datamodel: unknown };
  /** The models, as described by prisma/tables.js. */
  readonly tables: Readonly<Record<string, Model>>;
  /** The scopes that mutations can require. */
  readonly scopes: readonly string[];
}

type MutationMethods = 'mutationField' | 'mutationFields';

/** Defines the types that every schema contains. */
function defineRoots(builder: Builder): void {
  for (const { graphql, scalar } of Object.values<Kind>(KINDS)) {
    // Every scalar's name is in BuilderTypes.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    if (scalar) builder.addScalarType(graphql as 'DateTime', scalar, {});
  }

  builder.queryType({
    description:
      'Reads the store. Requires the scope `read`, unless the gateway allows reading without a token.',
  });
  builder.mutationType({
    description:
      'Changes the store. Each result is a union of the payload and the expected errors. ' +
      'Selecting related objects in the payload also requires the scope that `Query` requires.',
  });
  builder.subscriptionType({
    description:
      'Streams changes to the store as they happen. Available over Server-Sent Events and ' +
      'WebSocket, both at the URL of the GraphQL endpoint. Requires the same scope as `Query`. ' +
      'Each change is sent once, in the order of `Query.changes`. After a disconnect, ' +
      'resubscribe and pass the last cursor as `after`.',
  });
}

/** Defines the types of a store, and creates its schema once all of them are defined. */
export class StoreBuilder<Models extends object> {
  /** The builder of Pothos. Only the resolvers of mutations get the caller. */
  readonly builder: Omit<Builder<Models>, MutationMethods> &
    Pick<Builder<Models, MutationContext>, MutationMethods>;
  /** The interface of types with global ids. */
  readonly Node: ReturnType<typeof defineNodes<Models>>;
  readonly #pothos: ReturnType<typeof createPothos<Models>>;
  readonly #untyped: Builder;
  readonly #options: BuilderOptions;
  readonly #repositories = new Map<string, Repository>();
  readonly #inputs: InputTypes;
  readonly #errors: ErrorTypes;
  readonly #changes: ChangeTypes;
  #isComplete = false;

  constructor(options: BuilderOptions) {
    this.#options = options;
    this.#pothos = createPothos<Models>(options.datamodel);
    // Only the types of their methods differ. The parts that all stores share do not need a store's types.
    /* oxlint-disable typescript/no-unsafe-type-assertion */
    this.builder = this.#pothos as unknown as typeof this.builder;
    this.#untyped = this.#pothos as unknown as Builder;
    /* oxlint-enable typescript/no-unsafe-type-assertion */
    defineRoots(this.#untyped);
    this.#errors = new ErrorTypes(this.#untyped);
    this.Node = defineNodes(this.#pothos, this.#repositories);
    this.#inputs = new InputTypes(this.#untyped);
    defineTotalCount(this.#untyped);
    this.#changes = new ChangeTypes(this.#untyped, this.#inputs);
  }

  /**
   * Defines the lists, errors, changes and subscription of a type, and returns the options of the fields that read and
   * write its rows.
   */
  fieldsOf<Row extends object>(
    type: OutputRef<Row>,
    repository: Repository<Row>,
  ): RowFields<Models, Row> {
    if (this.#isComplete) throw new Error('Call fieldsOf before createSchema.');
    this.#repositories.set(repository.type, repository);
    this.#errors.add(repository.errors);
    this.#changes.add(type, repository);
    return new RowFields(this.#pothos, type, repository, {
      inputs: this.#inputs,
      errors: this.#errors,
    });
  }

  /** Returns the schema, and the other parts of the store that are derived from its types. */
  createSchema(): Pick<Store, 'schema' | 'repositories' | 'errorCodes'> {
    this.#isComplete = true;
    const { tables, scopes } = this.#options;
    requireTypes({ tables, repositories: this.#repositories });
    const repositories = [...this.#repositories.values()];
    this.#changes.defineLog(repositories);
    for (const each of repositories) defineGroups(this.#untyped, each, repositories);
    const errorCodes = this.#errors.defineCodes();
    // Fields are in the order of their definition, so each type starts with its id.
    const schema = replaceId(
      this.#pothos.toSchema({ sortSchema: false, directives: [...DIRECTIVES] }),
    );
    limitResults(schema);
    setTextSizes(schema, tables);
    checkStore({ schema, tables, scopes, repositories: this.#repositories });
    return { schema, repositories: this.#repositories, errorCodes };
  }
}
