import { assert, asyncProperty } from 'fast-check';
import { OperationTypeNode, parse } from 'graphql';
import { expect } from 'vitest';

import { ParsedDocument } from '../../src/gateway/operation/operation.ts';
import { petStore } from '../../src/store/index.ts';
import { type Gateway, type GraphqlResponse, postOperation } from './gateway.ts';
import { type Operation, operationsOn, TAME } from './operations.ts';

const { schema } = petStore;

export interface Params {
  query: string;
  operationName?: string;
  variables?: Record<string, unknown>;
}

type ResponseWithCost = GraphqlResponse & { cost: { requested: number; allowed: number } };

export async function askCost(gateway: Gateway, params: Params): Promise<ResponseWithCost> {
  const report = { 'graphql-cost': 'report' };
  const { headers: _, ...response } = await postOperation(gateway, params, report);
  return { ...response, cost: response.extensions?.['cost'] as never };
}

/** Sends an operation twice, and expects it to be rejected both times without an SQL statement. */
export async function expectRejected(gateway: Gateway, params: Params, code: string) {
  gateway.statements.length = 0;
  for (let time = 1; time <= 2; time += 1) {
    const { status, data, errors } = await askCost(gateway, params);
    expect(data).toBeUndefined();
    expect(errors?.map(({ extensions }) => extensions)).toMatchObject([{ code, status: 400 }]);
    expect(status).toBe(400);
  }
  expect(gateway.statements).toEqual([]);
}

/** Returns the cost that the gateway expects of an operation, and the bytes of its largest possible response. */
export function estimateOf({ query, variables, operationName }: Operation) {
  const operation = new ParsedDocument(schema, parse(query)).find(operationName);
  if (!operation) throw new Error('There is no operation.');
  return operation.estimate(variables);
}

export const countFields = (data: unknown): number =>
  typeof data === 'object' && data !== null
    ? Object.values(data).reduce<number>(
        (sum, value) => sum + countFields(value),
        Array.isArray(data) ? 0 : Object.keys(data).length,
      )
    : 0;

/** Expects each arbitrary query to cost at least the number of fields in its result. */
export async function expectEnoughCost(gateway: Gateway, numRuns: number): Promise<void> {
  const queries = operationsOn(schema, OperationTypeNode.QUERY, 6, TAME);
  const property = asyncProperty(queries, async (operation) => {
    const { data, cost } = await askCost(gateway, operation);
    expect(countFields(data)).toBeLessThanOrEqual(cost.requested);
  });
  await assert(property, { numRuns });
}
