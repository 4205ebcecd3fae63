import type { ExecutionArgs, ExecutionResult, GraphQLSchema } from 'graphql';

import type { Limits } from '../../config/config.ts';
import type { CallContext, Exchange } from '../../context.ts';
import { InvalidInput, type Issue } from '../../contract/gateway-error.ts';
import { MAX_LIST_SIZE } from '../../contract/parse.ts';
import { estimate } from '../analysis/cost.ts';
import type { Estimate } from '../analysis/field-cost.ts';
import { type Operation, operationOf } from '../analysis/operation.ts';

type Variables = Readonly<Record<string, unknown>>;

/** An operation of a valid document that a caller requests. */
export interface Call {
  readonly schema: GraphQLSchema;
  readonly operation: Operation;
  /** The variables that the operation declares. */
  readonly variables: Variables;
  readonly context: CallContext & Exchange;
  readonly estimate: Estimate;
  /** The value from which the root fields are resolved: the change, for the result of a subscription. */
  readonly root?: object;
}

/** Executes an operation. It returns a promise only if it has to wait, or if it is traced. */
export type Execute = (call: Call) => ExecutionResult | Promise<ExecutionResult>;

/** Begins a subscription. It returns its results, or one result with the errors that prevent it. */
export type Subscribe = (
  call: Call,
) => ExecutionResult | Promise<ExecutionResult | AsyncIterableIterator<ExecutionResult>>;

/** A step of the execution: it returns a result of its own, or that of the next step. */
export type Step = (next: Execute) => Execute;

/** A step before an execution or a subscription: it rejects a call, or leaves it to the next step. */
export type Check = <Result>(
  next: (call: Call) => Result,
) => (call: Call) => Result | ExecutionResult;

/** Returns the function that takes these steps, in this order, and at last `run`. */
export const inOrder = <Run>(steps: readonly ((next: Run) => Run)[], run: Run): Run =>
  steps.reduceRight((next, step) => step(next), run);

/** Converts the result of an execution. */
export function mapResult(
  result: ExecutionResult | Promise<ExecutionResult>,
  convert: (result: ExecutionResult) => ExecutionResult,
): ExecutionResult | Promise<ExecutionResult> {
  return result instanceof Promise ? result.then(convert) : convert(result);
}

// No input of the schema is nested deeper. Without a limit, scalars would recurse into any value.
const MAX_INPUT_DEPTH = 10;

const tooLarge = (message: string): Issue => ({ path: [], message });

/** Finds a value in a variable that is too large; one variable can be used by many fields. */
function findLargeValue(value: unknown, depth: number, limits: Limits): Issue | undefined {
  const { maxTextLength } = limits;
  if (typeof value === 'string') {
    if (value.length <= maxTextLength) return undefined;
    return tooLarge(`must have at most ${maxTextLength} characters.`);
  }
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth > MAX_INPUT_DEPTH) return tooLarge('is nested too deeply.');
  // graphql-js reports every unknown field separately and quotes the whole input each time.
  const size = Array.isArray(value) ? value.length : Object.keys(value).length;
  if (size > MAX_LIST_SIZE) return tooLarge(`must have at most ${MAX_LIST_SIZE} values.`);
  for (const [name, inner] of Object.entries(value)) {
    if (name.length > maxTextLength) {
      return tooLarge(`must have names of at most ${maxTextLength} characters.`);
    }
    const issue = findLargeValue(inner, depth + 1, limits);
    if (issue) return { ...issue, path: [name, ...issue.path] };
  }
  return undefined;
}

/**
 * Returns the variables that an operation declares; others have no effect (GraphQL §6.1.2), and there may be
 * as many as fit into a body.
 * @throws InvalidInput if one of them is too large
 */
function takeDeclared({ node }: Operation, variables: Variables, limits: Limits): Variables {
  const names = (node.variableDefinitions ?? [])
    .map(({ variable }) => variable.name.value)
    .filter((name) => Object.hasOwn(variables, name));
  for (const name of names) {
    const issue = findLargeValue(variables[name], 1, limits);
    if (issue) throw new InvalidInput([{ ...issue, path: [name, ...issue.path] }]);
  }
  return Object.fromEntries(names.map((name) => [name, variables[name]]));
}

/**
 * Returns the call for the arguments with which Yoga executes.
 * @throws InvalidInput if a variable is too large
 */
export function toCall(
  { schema, document, operationName, variableValues }: ExecutionArgs,
  context: CallContext & Exchange,
  limits: Limits,
): Call {
  const operation = operationOf(document, operationName);
  if (!operation) throw new Error('Yoga executes a document without the operation.');
  const variables = takeDeclared(operation, variableValues ?? {}, limits);
  return {
    schema,
    operation,
    variables,
    context,
    estimate: estimate(schema, operation, variables),
  };
}
