import { GraphQLError, parse } from 'graphql';
import { describe, expect, it } from 'vitest';

import type { Change } from '../../src/gateway/changes/change-log.ts';
import { Stream, type StreamRequest } from '../../src/gateway/changes/streams.ts';
import { type Operation, ParsedDocument } from '../../src/gateway/operation/operation.ts';
import type { Call } from '../../src/gateway/operation/request.ts';
import { shareResults } from '../../src/gateway/operation/steps/share-results.ts';
import { petStore } from '../../src/store/index.ts';

const OPERATIONS = 60;
// With this cost, results are computed one at a time.
const estimate = { cost: 2000, bytes: 0, statements: 1 };

const operations = Array.from({ length: OPERATIONS }, (_, index): Operation => {
  const document = parse(`subscription { a${index}: petChanged { kind } }`);
  const operation = new ParsedDocument(petStore.schema, document).find();
  if (!operation) throw new Error('There is no operation.');
  return operation;
});

const request = {
  req: { socket: {}, headers: {} },
  caller: { subject: 'any' },
} as unknown as StreamRequest;
const openStream = (): Stream => new Stream(request, 1);

describe('the results of a change', () => {
  const root = { transaction: 1n, id: 1n, changedAt: new Date() } as Change;

  it('are computed only once for each operation, however many streams and operations there are', async () => {
    let executions = 0;
    const share = shareResults(async () => {
      executions += 1;
      return { data: {} };
    });
    const results = [1, 2].flatMap(() =>
      operations.map((operation) =>
        share({ operation, estimate, params: {} } as unknown as Call, {
          root,
          variables: '',
          stream: openStream(),
        }),
      ),
    );
    await Promise.all(results);
    expect(executions).toBe(OPERATIONS);
  });

  it('are not shared between streams with different variables', async () => {
    const [operation] = operations;
    if (!operation) throw new Error('There is no operation.');
    const share = shareResults(async ({ variables }) => ({ data: variables }));
    const ask = (id: number) =>
      share({ operation, estimate, params: {}, variables: { id } } as unknown as Call, {
        root,
        variables: JSON.stringify({ id }),
        stream: openStream(),
      });
    expect(await Promise.all([1, 2, 1].map(ask))).toEqual(
      [1, 2, 1].map((id) => ({ data: { id } })),
    );
  });

  it('are computed again for later streams if they have an error', async () => {
    const [operation] = operations;
    if (!operation) throw new Error('There is no operation.');
    const results = [{ errors: [new GraphQLError('down')] }, { data: {} }];
    const share = shareResults(async () => results.shift() ?? {});
    const ask = () =>
      share({ operation, estimate, params: {} } as unknown as Call, {
        root,
        variables: '',
        stream: openStream(),
      });
    expect((await ask()).errors).toHaveLength(1);
    expect(await ask()).toEqual({ data: {} });
    expect(await ask()).toEqual({ data: {} });
  });
});
