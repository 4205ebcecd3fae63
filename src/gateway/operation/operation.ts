import {
  type DocumentNode,
  getOperationAST,
  type GraphQLSchema,
  type OperationDefinitionNode,
  OperationTypeNode,
} from 'graphql';
import { LRUCache } from 'lru-cache';

import { estimateKeyOf, Estimator } from './accept/cost.ts';
import { type Fragments, fragmentsOf } from './accept/document-size.ts';
import type { Estimate, VariableValues } from './accept/field-cost.ts';
import { findUsage, type Usage } from './accept/usage.ts';
import type { CompiledQuery } from './statement/compile.ts';

const MAX_NAME_LENGTH = 100;
// Clients can send many different variables. This is part of OPERATION_BYTES (documents.ts).
const MAX_ESTIMATES = { max: 10, maxSize: 2000 };

/** An operation of a document, with all that is known of it. */
export class Operation {
  static #count = 0;

  readonly id = (Operation.#count += 1);
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly node: OperationDefinitionNode;
  readonly fragments: Fragments;
  /** The name in logs, traces and metrics, at most 100 characters; undefined for an anonymous operation. */
  readonly name: string | undefined;
  /** The number of executions, negative after a compiled query has failed; counted by compile-queries.ts. */
  executions = 0;
  /** What the operation is compiled to; set by compile-queries.ts once it is executed repeatedly. */
  compiled: CompiledQuery | undefined;
  #usage: Usage | undefined;
  /** The estimate, if it depends on no variables. */
  #constant: Estimate | undefined;
  /** The variables that the estimate depends on; undefined before the first estimate. */
  #names: readonly string[] | undefined;
  readonly #estimates = new LRUCache<string, Estimate>({
    ...MAX_ESTIMATES,
    sizeCalculation: (_estimate, key) => key.length + 1,
  });

  constructor(schema: GraphQLSchema, document: DocumentNode, node: OperationDefinitionNode) {
    this.schema = schema;
    this.document = document;
    this.node = node;
    this.fragments = fragmentsOf(document);
    this.name = node.name?.value.slice(0, MAX_NAME_LENGTH);
  }

  get usage(): Usage {
    return (this.#usage ??= findUsage(this.schema, this.node, this.fragments));
  }

  /** Whether the operation makes, follows or reads changes, rather than only rows. */
  get usesChanges(): boolean {
    return (
      this.node.operation !== OperationTypeNode.QUERY || this.usage.counted.has('Query.changes')
    );
  }

  /** Estimates the worst case with these variables, with their defaults. The document must be valid. */
  estimate(variables: VariableValues): Estimate {
    if (this.#constant) return this.#constant;
    const known = this.#names && this.#estimates.get(estimateKeyOf(this.#names, variables));
    if (known) return known;
    const estimator = new Estimator(this.schema, this.fragments, variables);
    const estimate = estimator.ofOperation(this.node);
    this.#names ??= [...estimator.used];
    if (this.#names.length === 0) this.#constant = estimate;
    else this.#estimates.set(estimateKeyOf(this.#names, variables), estimate);
    return estimate;
  }
}

/** A document and its operations, which are forgotten with it. */
export class ParsedDocument {
  readonly schema: GraphQLSchema;
  readonly node: DocumentNode;
  readonly #operations = new Map<string, Operation>();

  constructor(schema: GraphQLSchema, node: DocumentNode) {
    this.schema = schema;
    this.node = node;
  }

  /** Returns the operation with this name, or the only one without a name; undefined if there is none. */
  find(operationName?: string | null): Operation | undefined {
    const key = operationName ?? '';
    const found = this.#operations.get(key);
    if (found) return found;
    const node = getOperationAST(this.node, operationName);
    if (!node) return undefined;
    // The only operation may be requested by its name or without it.
    const name = node.name?.value ?? '';
    const operation = this.#operations.get(name) ?? new Operation(this.schema, this.node, node);
    this.#operations.set(name, operation).set(key, operation);
    return operation;
  }
}
